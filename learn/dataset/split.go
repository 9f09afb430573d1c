package dataset

import (
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// Role says what a user's history is used for.
type Role uint8

// The roles. Users that a split file does not name are Unassigned and used for
// nothing.
const (
	Unassigned Role = iota
	Train
	Validation
	Test
)

var roleNames = [...]string{"unassigned", "train", "validation", "test"}

// String returns the role as it stands in a split file.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// Split is the role of each user, by user index.
type Split []Role

// Count returns the number of users with the given role.
func (s Split) Count(role Role) int {
	n := 0
	for _, r := range s {
		if r == role {
			n++
		}
	}
	return n
}

// SeededSplit divides users 8:1:1 at random, the same way for the same seed:
// of N users ⌊N/10⌋ are for validation, ⌊8N/10⌋ for training, but at least one,
// and the rest, ⌊N/10⌋ to ⌊N/10⌋+2, for testing.
func SeededSplit(users int, seed uint64) Split {
	s := make(Split, users)
	train, validation := max(1, 8*users/10), users/10
	rng := rand.New(rand.NewPCG(seed, 0x73706c6974)) // "split": a stream of its own
	for place, u := range rng.Perm(users) {
		switch {
		case place < train:
			s[u] = Train
		case place < train+validation:
			s[u] = Validation
		default:
			s[u] = Test
		}
	}
	return s
}

// ReadSplit reads a split file for the users of d: CSV or TSV with the columns user_id and role,
// plain or compressed, the role being train, validation or test. More columns are ignored. Users
// that it does not name are Unassigned, users that d does not have are ignored. A file that names
// no user of d belongs to other data and is an error, as is the first fault.
func ReadSplit(path string, d *Interactions) (Split, error) {
	var roles map[string]Role
	err := rows.With(path, nil, func(s *rows.Source) (err error) {
		roles, err = readRoles(s)
		return err
	})
	if err != nil {
		return nil, err
	}
	s, named := make(Split, len(d.Users)), false
	for u, id := range d.Users {
		s[u] = roles[id]
		named = named || s[u] != Unassigned
	}
	if !named {
		return nil, fmt.Errorf("%s: none of its %d users is in the data: is it the split of "+
			"other data?", path, len(roles))
	}
	return s, nil
}

// readRoles returns the role of each user id.
func readRoles(s *rows.Source) (map[string]Role, error) {
	t, at, err := rows.OpenTable(s, "a split", rows.Column{Name: "user_id"},
		rows.Column{Name: "role"})
	if err != nil {
		return nil, err
	}
	byName := map[string]Role{}
	for _, role := range []Role{Train, Validation, Test} {
		byName[role.String()] = role
	}
	roles := map[string]Role{}
	for {
		fields, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		id := fields[at[0]]
		if err := rows.CheckID(id); err != nil {
			return nil, t.Bad("user_id", err)
		}
		role, ok := byName[string(fields[at[1]])]
		if !ok {
			return nil, t.Bad("role", rows.Refusef("%s, want train, validation or test",
				rows.Quote(fields[at[1]])))
		}
		if _, twice := roles[string(id)]; twice {
			return nil, t.Bad("user_id", rows.Refusef("user %s was there before", rows.Quote(id)))
		}
		roles[string(id)] = role
	}
	if len(roles) == 0 {
		return nil, fmt.Errorf("%s: no users: the split has a header and nothing else", s.Path)
	}
	return roles, nil
}

// mustMatch panics if s is not a split of d's users.
func mustMatch(d *Interactions, s Split) {
	if len(s) != len(d.Users) {
		panic(fmt.Sprintf("dataset: split of %d users for data of %d", len(s), len(d.Users)))
	}
}
