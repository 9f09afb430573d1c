package doors

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

// maxTokens bounds the time of a comparison: all tokens of the file are compared at each call.
const maxTokens = 1000

// tokens are those of one file.
type tokens struct {
	hashes   [][sha256.Size]byte
	known    []*caller // by their hashes
	signed   []*signedLine
	newUsers bool // a line has a limit of them
	verified verified
	log      *slog.Logger
	told     sync.Map // the *rate.Limiter of the lines of the log of each refusal
}

// A caller is who shows a token.
type caller struct {
	name     string // of the line
	roles    map[Role]bool
	rates    *rates    // of the calls of the line
	newUsers *rates    // of the users who begin a history by them
	subject  string    // of a signed token, which has rates of its own; else empty
	user     string    // the only one whom its calls may be about; empty: any
	until    time.Time // when a signed token ends
}

// limit returns the limit that an option of a line is about; nil: it is about none.
func (c *caller) limit(option string) *rates {
	switch option {
	case "calls":
		return c.rates
	case "new-users":
		return c.newUsers
	}
	return nil
}

// find returns who shows a token.
func (t *tokens) find(token string, now func() time.Time) (*caller, error) {
	if token == "" {
		return nil, ErrUnauthenticated
	}
	hash := sha256.Sum256([]byte(token))
	if at := t.byHash(hash); at >= 0 {
		return t.known[at], nil
	}
	if len(t.signed) == 0 {
		return nil, ErrUnauthenticated
	}
	return t.bySignature(token, hash, now())
}

// byHash returns the index of a hash, -1 if it is unknown. The time does not depend on the token
// that is found, nor on how much of one is right.
func (t *tokens) byHash(hash [sha256.Size]byte) int {
	at := -1
	for i := range t.hashes {
		same := subtle.ConstantTimeCompare(hash[:], t.hashes[i][:])
		at = subtle.ConstantTimeSelect(same, i, at)
	}
	return at
}

// bearer returns the token of the values of the metadata "authorization"; empty: there is none, or
// more than one.
func bearer(values []string) string {
	if len(values) != 1 {
		return ""
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return token
}

// tokenName is the form of the names in the file, which are for people.
var tokenName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

const nameForm = "up to 64 letters, digits, dots, _ and -, a letter or digit first"

// tokenBytes is the entropy of a token.
const tokenBytes = 32

// NewToken draws a token with these roles, such as "recommend,observe", and returns it with its
// line for the file. The error is a [fault.Fault] of the field name or roles.
func NewToken(name, roles string) (token, line string, err error) {
	var errs []error
	if !tokenName.MatchString(name) {
		errs = append(errs, fault.New("name", fmt.Sprintf("%q", name), nameForm))
	}
	if _, err := parseRoles(roles); err != nil {
		errs = append(errs, fault.New("roles", fmt.Sprintf("%q", roles),
			"some of "+roleNames()+", with commas"))
	}
	if err := errors.Join(errs...); err != nil {
		return "", "", err
	}
	random := make([]byte, tokenBytes)
	rand.Read(random) // never fails
	token = "gsimc_" + base64.RawURLEncoding.EncodeToString(random)
	hash := sha256.Sum256([]byte(token))
	return token, fmt.Sprintf("%s %s %x", name, roles, hash), nil
}
