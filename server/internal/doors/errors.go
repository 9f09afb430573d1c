package doors

import (
	"errors"
	"fmt"
)

// Errors of calls that may not go on.
var (
	ErrUnauthenticated = errors.New("doors: no token, or an unknown one")
	// ErrEnded is the error of a signed token whose time is over.
	ErrEnded = errors.New("doors: the token has ended")
	// ErrNoLine is the error of a signed token of a known issuer that meets no line of the file.
	ErrNoLine = errors.New("doors: no line of the file has the audience and claims of the token")
	// ErrKeys is the error of a signed token whose key is not known yet.
	ErrKeys = errors.New("doors: the keys of the token's issuer are being read")
	// ErrRateLimit is the error of a call that is one too many for its token.
	ErrRateLimit = errors.New("doors: as many calls as the token may make in a second")
	// ErrOtherUser is the error of a call that is not, or not only, about the user of its token.
	ErrOtherUser = errors.New("doors: the token is bound to another user")
)

// A DeniedError is the error of a call whose token lacks a role.
type DeniedError struct {
	Name string // of the token's line
	Role Role
}

// Error names both.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("doors: the token %s lacks the role %s", e.Name, e.Role)
}
