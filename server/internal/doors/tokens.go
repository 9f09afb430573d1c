package doors

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gsimc/gsimc/internal/fault"
)

// maxTokens bounds the time of a comparison: all tokens of the file are compared at each call.
const maxTokens = 1000

// tokens are those of one file.
type tokens struct {
	hashes [][sha256.Size]byte
	names  []string
	roles  []map[Role]bool
}

// find returns the index of a token, -1 if it is unknown. The time does not depend on the token
// that is found, nor on how much of one is right.
func (t *tokens) find(token string) int {
	if token == "" {
		return -1
	}
	hash := sha256.Sum256([]byte(token))
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

// parseTokenFile implements the Parse of [watched.Files]: lines of name, roles and hash in hex,
// separated by blanks; empty lines and those that begin with # do not count. A name may stand
// twice, so that a client can have an old and a new token for a while.
func parseTokenFile(texts [][]byte) (*tokens, error) {
	t := &tokens{}
	bad := func(line int, problem string) (*tokens, error) {
		return nil, &fault.Fault{Field: "TokenFile", Problem: fmt.Sprintf("line %d has %s: a line "+
			"is a name, roles with commas and the SHA-256 of the token, as `gsimc token` prints it",
			line, problem)}
	}
	seen := map[[sha256.Size]byte]bool{}
	number := 0
	for line := range bytes.Lines(texts[0]) {
		number++
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 3 {
			return bad(number, fmt.Sprintf("%d words", len(words)))
		}
		has, err := parseRoles(words[1])
		hash, hashErr := hex.DecodeString(words[2])
		switch {
		case !tokenName.MatchString(words[0]):
			return bad(number, "a name that is not of letters, digits, dots, _ and -")
		case err != nil:
			return bad(number, err.Error())
		case hashErr != nil || len(hash) != sha256.Size:
			return bad(number, "no hash of 64 hexadecimal digits")
		case seen[[sha256.Size]byte(hash)]:
			return bad(number, "the hash of an earlier line")
		case len(t.hashes) == maxTokens:
			return bad(number, fmt.Sprintf("more than the %d tokens that there may be", maxTokens))
		}
		seen[[sha256.Size]byte(hash)] = true
		t.hashes, t.roles = append(t.hashes, [sha256.Size]byte(hash)), append(t.roles, has)
		t.names = append(t.names, words[0])
	}
	if len(t.hashes) == 0 { // as while it is being written; nobody could call
		return nil, &fault.Fault{Field: "TokenFile", Problem: "there is no token in the file"}
	}
	return t, nil
}

// tokenBytes is the entropy of a token.
const tokenBytes = 32

// NewToken draws a token with these roles, such as "recommend,observe", and returns it with its
// line for the file. The error is a [fault.Fault] of the field Name or Roles.
func NewToken(name, roles string) (token, line string, err error) {
	var errs []error
	if !tokenName.MatchString(name) {
		errs = append(errs, fault.New("Name", fmt.Sprintf("%q", name),
			"up to 64 letters, digits, dots, _ and -, the first a letter or a digit"))
	}
	if _, err := parseRoles(roles); err != nil {
		errs = append(errs, fault.New("Roles", fmt.Sprintf("%q", roles),
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
