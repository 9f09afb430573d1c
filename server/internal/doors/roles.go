package doors

import (
	"errors"
	"slices"
	"strings"
)

// A Role is what a token may be good for. No role includes another.
type Role string

// The roles.
const (
	Recommend Role = "recommend" // ask for lists
	Observe   Role = "observe"   // send events
	User      Role = "user"      // look at users, take events back and delete them
	Items     Role = "items"     // look at the catalogue and change it
	Admin     Role = "admin"     // operate the server

	Anybody Role = "" // of methods that need no token
)

// Roles returns all roles.
func Roles() []Role { return []Role{Recommend, Observe, User, Items, Admin} }

// parseRoles reads "recommend,observe". The error does not show the text.
func parseRoles(text string) (map[Role]bool, error) {
	has := map[Role]bool{}
	for word := range strings.SplitSeq(text, ",") {
		role := Role(word)
		if !slices.Contains(Roles(), role) {
			return nil, errors.New("a role that is not one of " + roleNames())
		}
		has[role] = true
	}
	return has, nil
}

// roleNames lists the roles for people.
func roleNames() string {
	var names []string
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return strings.Join(names, ", ")
}
