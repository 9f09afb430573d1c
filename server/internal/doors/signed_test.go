package doors

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/issuertest"
)

// clock is a time that a test moves.
type clock struct{ atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(c.Load(), 0) }

// openSigned opens doors with these lines, in which ISSUER stands for the issuer, and waits until
// its keys are read.
func openSigned(t testing.TB, i *issuertest.Issuer, lines string) (*Doors, *clock) {
	t.Helper()
	c := &clock{}
	c.Store(1_000_000)
	path := certtest.Write(t, t.TempDir(), "tokens",
		[]byte(strings.ReplaceAll(lines, "ISSUER", i.URL)))
	d := check.Get(Open(Files{Tokens: path}, roles, c.now, slog.New(slog.DiscardHandler),
		NewMetrics()))(t)
	go d.Watch(t.Context(), 5*time.Millisecond)
	eventually(t, "the keys are read", func() bool {
		return len(d.tokens.Get().signed[0].issuer.keys.Load().keys) > 0
	})
	return d, c
}

// claims are those of a good token, with changes: a nil value leaves a claim out.
func claims(i *issuertest.Issuer, changes map[string]any) map[string]any {
	all := map[string]any{"iss": i.URL, "aud": "gsimc", "sub": "ann", "exp": 1_000_600}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

func bearerOf(token string) context.Context { return withToken("Bearer " + token) }

// A token counts by its signature, its time, its audience and its claims.
func TestSignedTokens(t *testing.T) {
	i := issuertest.New(t)
	d, _ := openSigned(t, i, "shop recommend jwt ISSUER gsimc scope=lists\n"+
		"staff user jwt ISSUER gsimc realm_access.roles=staff verified=true\n"+
		"any observe jwt ISSUER gsimc team=a\nany observe jwt ISSUER gsimc level=12\n")
	list, staff := map[string]any{"scope": "openid lists"}, map[string]any{"verified": true,
		"realm_access": map[string]any{"roles": []string{"guest", "staff"}}}
	with := func(base map[string]any, name string, value any) map[string]any {
		all := maps.Clone(base)
		all[name] = value
		return all
	}
	for _, tt := range []struct {
		name    string
		method  string
		changes map[string]any
		want    error
	}{
		{"a word of scope", "/a/Recommend", list, nil},
		{"audiences", "/a/Recommend", with(list, "aud", []string{"other", "gsimc"}), nil},
		{"one of a list", "/a/User", staff, nil},
		{"a text", "/a/Observe", map[string]any{"team": "a"}, nil},
		{"a number", "/a/Observe", map[string]any{"level": 12}, nil},
		{"a number of a list", "/a/Observe", map[string]any{"level": []any{1, 12}}, nil},
		{"another number", "/a/Observe", map[string]any{"level": 12.5}, ErrNoLine},
		{"just ended", "/a/Recommend", with(list, "exp", 999_980), nil},
		{"the first line counts", "/a/User", with(staff, "scope", "lists"),
			&DeniedError{"shop", User}},
		{"another role", "/a/Admin", list, &DeniedError{"shop", Admin}},
		{"ended", "/a/Recommend", with(list, "exp", 999_900), ErrEnded},
		{"not yet", "/a/Recommend", with(list, "nbf", 1_000_100), ErrUnauthenticated},
		{"of the future", "/a/Recommend", with(list, "iat", 1_000_100), ErrUnauthenticated},
		{"without an end", "/a/Recommend", with(list, "exp", nil), ErrUnauthenticated},
		{"an end that is a text", "/a/Recommend", with(list, "exp", "1000600"),
			ErrUnauthenticated},
		{"another audience", "/a/Recommend", with(list, "aud", "other"), ErrNoLine},
		{"no audience", "/a/Recommend", with(list, "aud", nil), ErrNoLine},
		{"no claim", "/a/Recommend", nil, ErrNoLine},
		{"a part of a word", "/a/Recommend", map[string]any{"scope": "lists2"}, ErrNoLine},
		{"not true", "/a/User", with(staff, "verified", false), ErrNoLine},
		{"another issuer", "/a/Recommend", with(list, "iss", i.URL+"/"), ErrUnauthenticated},
		{"no issuer", "/a/Recommend", with(list, "iss", nil), ErrUnauthenticated},
	} {
		token := i.Sign(t, claims(i, tt.changes))
		for range 2 { // the second time from memory
			if err := d.Check(bearerOf(token), tt.method); fmt.Sprint(err) != fmt.Sprint(tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			}
		}
		known := d.Knows([]string{"Bearer " + token})
		if _, denied := tt.want.(*DeniedError); (denied || tt.want == nil) != (known == nil) {
			t.Errorf("%s: to the JSON side %v", tt.name, known)
		}
	}
	check.Same(t, [2]string{"staff", "ann"}, callerOf(bearerOf(i.Sign(t, claims(i, staff))), d),
		"the caller")
}

// A token counts by lines of its own issuer alone.
func TestTokensOfTwoIssuers(t *testing.T) {
	one, other := issuertest.New(t), issuertest.New(t)
	d, _ := openSigned(t, one, "head admin jwt ISSUER gsimc\nweb recommend jwt "+other.URL+" gsimc\n")
	token := other.Sign(t, claims(other, nil))
	eventually(t, "the keys of the other are read", func() bool {
		return d.Check(bearerOf(token), "/a/Recommend") == nil
	})
	var denied *DeniedError
	if err := d.Check(bearerOf(token), "/a/Admin"); !errors.As(err, &denied) ||
		*denied != (DeniedError{"web", Admin}) {
		t.Errorf("a token of the other issuer: %v, want it to be denied as that of web", err)
	}
}

// The log says why a signed token does not count, once a second for each reason, by the names of
// claims: it has no value of one.
func TestWhyTokensAreRefused(t *testing.T) {
	i, c, dir := issuertest.New(t), &clock{}, t.TempDir()
	c.Store(1_000_000)
	keys := certtest.Write(t, dir, "keys", check.Get(json.Marshal(i.Document()))(t))
	line := " recommend jwt " + i.URL + " gsimc keys=" + keys
	path := certtest.Write(t, dir, "tokens", []byte("shop"+line+" team.name=a ok=true\nweb"+line+
		" user=customer\n"))
	var logs bytes.Buffer
	d := check.Get(Open(Files{Tokens: path}, roles, c.now, slog.New(slog.NewTextHandler(&logs, nil)),
		NewMetrics()))(t)
	d.tokens.Get().signed[0].issuer.asked = c.now().Add(time.Hour) // no key is awaited
	sign := func(name string, value any) string {
		return i.Sign(t, claims(i, map[string]any{"customer": "canary", name: value}))
	}
	ends := sign("exp", 1_000_001)
	must(t, d.Knows([]string{"Bearer " + ends}))
	c.Add(60)
	tokens := map[string]string{
		`"its hash is in no line, and it is no JWT with a signature by a public key"`: "gsimc_canary",
		`"its issuer is in no line (iss)"`:                                            sign("iss", "canary"),
		`"its signature is wrong" issuer=` + i.URL: issuertest.New(t).Sign(t,
			claims(i, nil)),
		`"it has no exp, or sub, aud, exp, nbf, iat or jti is of a wrong kind" issuer=` + i.URL: sign("exp", nil),
		`"its time is over (exp)" issuer=` + i.URL:                                              ends,
		`"its time has not begun (nbf, iat)" issuer=` + i.URL:                                   sign("nbf", 1_000_200),
		`"no line of its issuer has its audience (aud)" issuer=` + i.URL:                        sign("aud", "canary"),
		`"a claim is not what the lines with its audience want" issuer=` + i.URL +
			` lines="[shop: team.name web: customer]"`: sign("customer", nil),
	}
	i.Rotate(t)
	tokens[`"no key of its issuer signed it" issuer=`+i.URL] = sign("customer", "canary")
	for want, token := range tokens {
		for second := range 2 {
			logs.Reset()
			for range 3 {
				check.Same(t, false, d.Knows([]string{"Bearer " + token}) == nil, "%s", want)
			}
			_, line, _ := strings.Cut(strings.TrimSpace(logs.String()), " level=")
			check.Same(t, `WARN msg="token refused" why=`+want, line, "second %d", second)
			c.Add(1)
		}
	}
}

// Signatures that anybody can make do not count.
func TestForgedTokens(t *testing.T) {
	i := issuertest.New(t)
	d, _ := openSigned(t, i, "shop recommend jwt ISSUER gsimc\n")
	good := i.Sign(t, claims(i, nil))
	check.Pass(t, d.Check(bearerOf(good), "/a/Recommend"), "a good token")
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	text := func(v any) string { return encode(check.Get(json.Marshal(v))(t)) }
	public := check.Get(json.Marshal(i.Document().Keys[0]))(t)
	own := check.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	for name, token := range map[string]string{
		"none":         text(map[string]string{"alg": "none"}) + "." + parts[1] + ".",
		"other claims": parts[0] + "." + text(claims(i, map[string]any{"sub": "bob"})) + "." + parts[2],
		"no signature": parts[0] + "." + parts[1] + ".",
		"cut":          good[:len(good)-4],
		"four parts":   good + ".x",
		"the key as a secret": issuertest.Sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: public},
			claims(i, nil)),
		"a key of its own": issuertest.Sign(t, jose.SigningKey{Algorithm: jose.RS256, Key: own},
			claims(i, nil)),
		"another issuer's": issuertest.New(t).Sign(t, claims(i, nil)),
	} {
		err := d.Check(bearerOf(token), "/a/Recommend")
		if err != ErrUnauthenticated && err != ErrKeys { // for one whose key may be a new one
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A token counts until its time is over, and no longer than the key that signed it is published.
// One of a new key counts once the keys are read again, which it causes itself.
func TestKeysChange(t *testing.T) {
	i := issuertest.New(t)
	d, c := openSigned(t, i, "shop recommend jwt ISSUER gsimc\n")
	look := func(token string) error { return d.Check(bearerOf(token), "/a/Recommend") }
	before := i.Sign(t, claims(i, nil))
	must(t, look(before))
	i.Rotate(t)
	after := i.Sign(t, claims(i, nil))
	check.Fails(t, look(after), ErrKeys, "a key that is not there")
	eventually(t, "the new key counts", func() bool { return look(after) == nil })
	check.Fails(t, look(before), ErrUnauthenticated,
		"a key that is not there, just after a reading for a token")
	i.NoNames.Store(true) // then nothing but the signature tells
	i.Rotate(t)
	nameless := i.Sign(t, claims(i, nil))
	c.Add(11)
	eventually(t, "a new key without a name counts", func() bool { return look(nameless) == nil })
	after = nameless
	i.Away.Store(true)
	c.Add(301)
	eventually(t, "a failed reading is counted", func() bool { return failedReads(t, d) > 0 })
	must(t, look(after))
	c.Add(1000)
	check.Fails(t, look(after), ErrEnded, "a token whose time is over")
}

// The log tells an issuer whose keys were never read from one whose keys stay.
func TestUnreadKeysAreLogged(t *testing.T) {
	i := issuertest.New(t)
	path := certtest.Write(t, t.TempDir(), "tokens", []byte("a recommend jwt "+i.URL+" gsimc\n"))
	var logs bytes.Buffer
	d := check.Get(Open(Files{Tokens: path}, roles, time.Now,
		slog.New(slog.NewTextHandler(&logs, nil)), NewMetrics()))(t)
	read := func(away bool, want string) {
		t.Helper()
		logs.Reset()
		i.Away.Store(away)
		d.issuers.reread(t.Context(), d.tokens.Get().signed[0].issuer)
		check.Has(t, logs.String(), want, "the log")
	}
	read(true, "cannot be read: its tokens do not count yet")
	read(false, "keys of an issuer read")
	read(true, "cannot be read: those from before stay")
}

// failedReads is the number of failed readings of keys.
func failedReads(t testing.TB, d *Doors) float64 {
	t.Helper()
	return counted(t, d.metrics, "gsimc_issuer_key_reads_total", "failure")
}

// An issuer that is away keeps no server from its start, and its tokens are told to come again.
func TestIssuerIsAway(t *testing.T) {
	i := issuertest.New(t)
	i.Away.Store(true)
	path := certtest.Write(t, t.TempDir(), "tokens", []byte("a recommend jwt "+i.URL+" gsimc\n"))
	c := &clock{}
	c.Store(1_000_000)
	d := check.Get(Open(Files{Tokens: path}, roles, c.now, slog.New(slog.DiscardHandler),
		NewMetrics()))(t)
	token := i.Sign(t, claims(i, nil))
	look := func() error { return d.Check(bearerOf(token), "/a/Recommend") }
	check.Fails(t, look(), ErrKeys, "before the first reading")
	go d.Watch(t.Context(), 5*time.Millisecond)
	eventually(t, "a reading fails", func() bool { return failedReads(t, d) > 0 })
	check.Fails(t, look(), ErrKeys, "after a failed reading")
	i.Away.Store(false)
	c.Add(11)
	eventually(t, "the token counts", func() bool { return look() == nil })
}

// The keys may be in a file, which is read again too.
func TestKeysOfAFile(t *testing.T) {
	i := issuertest.New(t)
	dir := t.TempDir()
	write := func() string {
		return certtest.Write(t, dir, "keys", check.Get(json.Marshal(i.Document()))(t))
	}
	d, c := openSigned(t, i, "a recommend jwt ISSUER gsimc keys="+write()+"\n")
	must(t, d.Check(bearerOf(i.Sign(t, claims(i, nil))), "/a/Recommend"))
	i.Rotate(t)
	write()
	c.Add(11)
	token := i.Sign(t, claims(i, nil))
	eventually(t, "the new key counts", func() bool {
		return d.Check(bearerOf(token), "/a/Recommend") == nil
	})
	check.Same(t, int64(0), i.Keys.Load(), "readings from the issuer")
}

// A token may be bound to the user that a claim names; one without the claim does not meet the line.
func TestBoundTokens(t *testing.T) {
	i := issuertest.New(t)
	d, _ := openSigned(t, i, "web recommend jwt ISSUER gsimc user=customer\n")
	enter := func(changes map[string]any) (string, error) {
		ctx, err := d.Enter(bearerOf(i.Sign(t, claims(i, changes))), "/a/Recommend")
		return OnlyUser(ctx), err
	}
	for want, claim := range map[string]any{"u7": "u7", "123": 123, "-7": -7.0, "0": 0,
		"9007199254740991": 1<<53 - 1} {
		user, err := enter(map[string]any{"customer": claim})
		check.Same(t, want, user, "the user")
		must(t, err)
	}
	for _, bad := range []any{nil, "", 7.5, 1 << 53, 1e300, true, []string{"u7"}, strings.Repeat("u", 257)} {
		_, err := enter(map[string]any{"customer": bad})
		check.Fails(t, err, ErrNoLine, "a claim %v", bad)
	}
}

// A line that asks for more stands first; one behind it that asks for less has tokens of its own.
func TestOrderOfLines(t *testing.T) {
	for _, lines := range []string{
		"a user jwt https://a a user=sub\nb user jwt https://a a\n",
		"a user jwt https://a a b=c\nb user jwt https://a a b=d\nc user jwt https://a a\n",
		"a user jwt https://a a user=sub\nb user jwt https://a a user=email\n",
		"a user jwt https://a a\nb user jwt https://a b\nc user jwt https://c a\n",
	} {
		_, err := parseTokenFile([]byte(lines), newIssuers(time.Now,
			slog.New(slog.DiscardHandler), func(bool) {}))
		check.Pass(t, err, "%s", lines)
	}
}

// A call that has entered goes on with a message about its user only, and while its token is bound
// to that user.
func TestBoundCalls(t *testing.T) {
	i := issuertest.New(t)
	d, _ := openSigned(t, i, "web recommend jwt ISSUER gsimc user=sub\n")
	headers := bearerOf(i.Sign(t, claims(i, nil)))
	ctx := check.Get(d.Enter(headers, "/a/Recommend"))(t)
	for about, want := range map[string]error{"ann": nil, "": nil, "bob": ErrOtherUser} {
		if got := d.CheckUser(ctx, true, about); got != want {
			t.Errorf("a message about %q: %v", about, got)
		}
		check.Fails(t, d.CheckUser(ctx, false, about), ErrOtherUser, "another method")
		check.Pass(t, d.CheckUser(headers, false, about), "a call that is bound to nobody")
	}
	check.Pass(t, d.Check(ctx, "/a/Recommend"), "the call goes on")
	check.Fails(t, d.Check(headers, "/a/Recommend"), ErrOtherUser,
		"a call that entered when the token was bound to nobody")
}

// Each token of a line, and each subject of a line of signed tokens, has a rate of its own, which
// fills within a second.
func TestRates(t *testing.T) {
	i := issuertest.New(t)
	known, line := newToken(t, "a", "recommend")
	d, c := openSigned(t, i, strings.TrimSpace(line)+" calls=2\nb recommend jwt ISSUER gsimc calls=3\n")
	enter := func(token string) (n int) {
		for range 10 {
			_, err := d.Enter(bearerOf(token), "/a/Recommend")
			if err == nil {
				n++
			} else {
				check.Fails(t, err, ErrRateLimit, "a call too many")
			}
		}
		return n
	}
	ann, bob := i.Sign(t, claims(i, nil)), i.Sign(t, claims(i, map[string]any{"sub": "bob"}))
	again := i.Sign(t, claims(i, map[string]any{"jti": "2"}))
	for second := range int64(5) {
		check.Same(t, 2, enter(known), "calls of a token that is known")
		check.Same(t, 3, enter(ann), "calls of ann")
		check.Same(t, 3, enter(bob), "calls of bob")
		check.Same(t, 0, enter(again), "calls of another token of ann")
		c.Add(1 + second%3)
	}
	check.Pass(t, check.Err(d.Enter(withToken(), "/a/Health")), "a call that needs no token")
	check.Pass(t, d.Check(bearerOf(bob), "/a/Recommend"), "a check, which counts no call")
}

// Tokens that have been verified take bounded memory.
func TestVerifiedTokensAreBounded(t *testing.T) {
	v, by := verified{}, &issuer{}
	set := &keySet{}
	by.keys.Store(set)
	for n := range 5 * maxVerified {
		v.put([32]byte{byte(n), byte(n >> 8), byte(n >> 16)}, &verifiedCaller{by: by, under: set})
	}
	if n := len(v.newer) + len(v.older); n > 2*maxVerified {
		t.Errorf("%d tokens are remembered", n)
	}
}

// Lines about signed tokens that say something that cannot be. No word of theirs is shown.
func TestBadSignedLines(t *testing.T) {
	const canary = "canary"
	dir := t.TempDir()
	empty := certtest.Write(t, dir, canary, []byte(`{"keys":[]}`))
	many := certtest.Write(t, dir, "many", []byte(`{"keys":[{}`+strings.Repeat(",{}", 100)+`]}`))
	none := certtest.Write(t, dir, "other", []byte(`{}`))
	private := certtest.Write(t, dir, "private", check.Get(json.Marshal(jose.JSONWebKeySet{
		Keys: []jose.JSONWebKey{{Key: check.Get(rsa.GenerateKey(rand.Reader, 2048))(t)}}}))(t))
	const other = "https://a a keys=https://a/k\nname admin jwt https://a a"
	for words, want := range map[string]string{
		"":                                  "no issuer or no audience",
		"https://" + canary:                 "no issuer or no audience",
		canary + " a":                       "an issuer that is no https:// URL",
		"http://" + canary + " a":           "an issuer that is no https:// URL",
		"https://u@" + canary + " a":        "an issuer that is no https:// URL",
		"https://a a " + canary:             "a word behind the audience",
		"https://a a " + canary + "=":       "a word behind the audience",
		"https://a a calls=" + canary:       "a number of calls a second",
		"https://a a calls=0":               "a number of calls a second",
		other:                               "the issuer of an earlier line, with other keys",
		canary + " a keys=http://" + canary: "a place of keys that is no https://",
		canary + " a keys=" + dir + "/none": "a file of keys that is not good (no such file",
		canary + " a keys=" + dir:           "a file of keys that is not good (it is not a file",
		"https://a a\nname user jwt https://a a user=sub":             "no tokens of its own",
		"https://a a b=c\nname user jwt https://a a d=e b=c user=sub": "no tokens of its own",
		"https://a a user=sub":                                        "user= beside the role items or admin",
		"https://a a User=sub":                                        "user= or keys= twice, or an option in capitals",
		"https://a a New-users=1":                                     "user= or keys= twice, or an option in capitals",
		"https://a a user=a user=b":                                   "user= or keys= twice",
		"https://a a calls=1 calls=1":                                 "two numbers of calls a second",
		"https://a a new-users=1 calls=1 new-users=2":                 "two numbers of new users a minute",
		"https://a a new-users=1000001":                               "a number of new users a minute",
		canary + " a keys=" + many:                                    "a file of keys that is not good (more than 100 keys",
		canary + " a keys=" + none:                                    "a file of keys that is not good (not a JSON document",
		canary + " a keys=" + empty:                                   "a file of keys that is not good (no public key",
		canary + " a keys=" + private:                                 "a file of keys that is not good (no public key",
	} {
		path := certtest.Write(t, t.TempDir(), "tokens", []byte("# b\nname admin jwt "+words+"\n"))
		_, err := Open(Files{Tokens: path}, roles, time.Now, slog.New(slog.DiscardHandler),
			NewMetrics())
		line := 2 + strings.Count(words, "\n")
		check.Says(t, err, fmt.Sprintf("TokenFile: %s: line %d has %s", path, line, want), "%s", words)
		check.Lacks(t, fmt.Sprint(err), canary, "%s: what is said of the line", words)
	}
}

// Keys that verify nothing are left out, and one that an issuer withdraws counts no more.
func TestParseKeys(t *testing.T) {
	i := issuertest.New(t)
	good := i.Document().Keys[0]
	encrypts := good
	encrypts.Use = "enc"
	short, err := base64.RawURLEncoding.DecodeString(strings.Repeat("_", 171)) // 1024 bits
	must(t, err)
	weak := &rsa.PublicKey{N: new(big.Int).SetBytes(short), E: 65537}
	document := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: []byte("secret")}, encrypts,
		{Key: weak}, good}}
	text := check.Get(json.Marshal(document))(t)
	set := check.Get(parseKeys(text))(t)
	check.Same(t, 1, len(set.keys), "keys")
	check.Same(t, 1, len(set.of(jose.Header{KeyID: "1", Algorithm: "ES256"})), "keys of a name")
	check.Same(t, 1, len(set.of(jose.Header{Algorithm: "ES256"})), "keys without a name")
	check.Same(t, 0, len(set.of(jose.Header{KeyID: "2", Algorithm: "ES256"})), "another name")
	check.Same(t, 0, len(set.of(jose.Header{KeyID: "1", Algorithm: "ES384"})), "another algorithm")

	d, c := openSigned(t, i, "shop recommend jwt ISSUER gsimc\n")
	token := bearerOf(i.Sign(t, claims(i, nil)))
	must(t, d.Check(token, "/a/Recommend"))
	i.Withdrawn.Store(true)
	c.Add(301)
	eventually(t, "a withdrawn key counts no more", func() bool {
		return d.Check(token, "/a/Recommend") != nil
	})
}

// What an issuer elsewhere says leads to no service of this machine.
func TestWhereKeysMayBe(t *testing.T) {
	for _, tt := range []struct {
		place, to string
		want      bool
	}{
		{"https://a.example", "https://b.example/k", true},
		{"https://a.example", "http://a.example/k", false},
		{"https://a.example", "http://127.0.0.1/k", false},
		{"https://a.example", "http://localhost/k", false},
		{"http://localhost:1", "http://127.0.0.1:2/k", true},
		{"http://127.0.0.1", "https://a.example/k", true},
		{"https://a.example", "https:///k", false},
		{"https://a.example", "file:///k", false},
	} {
		i := &issuer{name: tt.place}
		check.Same(t, tt.want, i.mayRead(tt.to), "%s to %s", tt.place, tt.to)
		r := check.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, tt.to, nil))(t)
		check.Same(t, tt.want, i.redirect(r, nil) == nil, "a redirect of %s to %s", tt.place, tt.to)
	}
}
