package doors

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
)

// A line of the file begins with a name and roles. The other words say which tokens it is about.
const (
	knownForm  = "NAME ROLES SHA-256 [calls=N] [new-users=N], as `gsimc token` prints it"
	signedForm = "NAME ROLES jwt ISSUER AUDIENCE [CLAIM=VALUE ...] [user=CLAIM] [keys=URL|FILE] " +
		"[calls=N] [new-users=N]"
	anyForm = knownForm + ", or " + signedForm
)

// parseTokenFile reads lines of words with blanks between them. It skips a byte order mark at the
// beginning of the file, empty lines, and lines that begin with #. A name may stand twice, so that
// a client can have an old and a new token for a while. all has the issuers of this file and of the
// files before it.
func parseTokenFile(text []byte, all *issuers) (*tokens, error) {
	t := &tokens{log: all.log}
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		number++
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if err := t.add(words, all); err != nil {
			return nil, &fault.Fault{Field: "TokenFile",
				Problem: fmt.Sprintf("line %d has %v", number, err)}
		}
	}
	if len(t.known)+len(t.signed) == 0 { // as while it is being written; nobody could call
		return nil, &fault.Fault{Field: "TokenFile", Problem: "there is no token in the file"}
	}
	all.keep(t.signed)
	return t, nil
}

// misshapen is the error of a line whose words are not those of a form.
func misshapen(form, problem string) error { return errors.New(problem + ": a line is " + form) }

// add takes the words of a line. The error completes "the line has"; it shows no word.
func (t *tokens) add(words []string, all *issuers) error {
	if len(words) < 3 {
		return misshapen(anyForm, fmt.Sprint(len(words), " words"))
	}
	has, err := parseRoles(words[1])
	switch {
	case !tokenName.MatchString(words[0]):
		return errors.New("a name that is not " + nameForm)
	case err != nil:
		return err
	case len(t.known)+len(t.signed) == maxTokens:
		return fmt.Errorf("more than the %d tokens that there may be", maxTokens)
	}
	who := caller{name: words[0], roles: has,
		rates:    &rates{what: "calls a second", period: time.Second},
		newUsers: &rates{what: "new users a minute", period: time.Minute}}
	if words[2] == "jwt" {
		err = t.addSigned(who, words[3:], all)
	} else {
		err = t.addKnown(who, words[2:])
	}
	t.newUsers = t.newUsers || who.newUsers.number > 0
	return err
}

// addKnown takes a token that is known by its hash.
func (t *tokens) addKnown(who caller, words []string) error {
	hash, err := hex.DecodeString(words[0])
	if err != nil || len(hash) != sha256.Size {
		return misshapen(anyForm, "no hash of 64 hexadecimal digits")
	}
	for _, word := range words[1:] {
		option, value, _ := strings.Cut(word, "=")
		limit := who.limit(option)
		if limit == nil {
			return misshapen(knownForm, fmt.Sprint(2+len(words),
				" words, and what follows the hash is not calls=N or new-users=N"))
		}
		if err := limit.parse(value); err != nil {
			return err
		}
	}
	if t.byHash([sha256.Size]byte(hash)) >= 0 {
		return errors.New("the hash of an earlier line")
	}
	t.hashes, t.known = append(t.hashes, [sha256.Size]byte(hash)), append(t.known, &who)
	return nil
}

// addSigned takes a line about tokens that an issuer signs.
func (t *tokens) addSigned(who caller, words []string, all *issuers) error {
	if len(words) < 2 {
		return misshapen(signedForm, "no issuer or no audience")
	}
	l := &signedLine{caller: who, audience: words[1]}
	for _, word := range words[2:] {
		if err := l.option(word); err != nil {
			return err
		}
	}
	if l.userClaim != "" && (l.roles[Items] || l.roles[Admin]) {
		return errors.New("user= beside the role items or admin, whose methods are about no user")
	}
	var err error
	if l.issuer, err = all.of(words[0], l.keys); err != nil {
		return err
	}
	for _, before := range t.signed {
		switch {
		case before.issuer.name != words[0]:
		case before.issuer != l.issuer:
			return errors.New("the issuer of an earlier line, with other keys")
		case before.takes(l):
			return errors.New("no tokens of its own: an earlier line takes all of them, and " +
				"would have to stand behind this one")
		}
	}
	t.signed = append(t.signed, l)
	return nil
}

// option takes a word behind the audience.
func (l *signedLine) option(word string) error {
	name, value, _ := strings.Cut(word, "=")
	limit := l.limit(name)
	switch {
	case name == "" || value == "":
		return misshapen(signedForm, "a word behind the audience that is not CLAIM=VALUE")
	case name == "user" && l.userClaim == "":
		l.userClaim = value
	case name == "keys" && l.keys == "":
		l.keys = value
	case limit != nil:
		return limit.parse(value)
	case slices.Contains([]string{"user", "keys", "calls", "new-users"}, strings.ToLower(name)):
		return errors.New("user= or keys= twice, or an option in capitals")
	default:
		l.claims = append(l.claims, claim{name, value})
	}
	return nil
}

// parse reads the number of a limit.
func (r *rates) parse(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case r.number != 0:
		return fmt.Errorf("two numbers of %s", r.what)
	case err != nil || n < 1 || n > maxRate:
		return fmt.Errorf("a number of %s that is not from 1 to %d", r.what, maxRate)
	}
	r.number = n
	return nil
}
