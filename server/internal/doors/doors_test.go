package doors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/issuertest"
)

var must, eventually = check.Must, check.Await

// withToken is the context of a call with these values of the metadata "authorization".
func withToken(values ...string) context.Context {
	md := metadata.MD{}
	md.Append("authorization", values...)
	return metadata.NewIncomingContext(context.Background(), md)
}

// newToken draws a token and returns it with its line.
func newToken(t testing.TB, name, roles string) (token, line string) {
	t.Helper()
	token, line, err := NewToken(name, roles)
	must(t, err)
	return token, line + "\n"
}

// openTokens opens doors with a file of tokens.
func openTokens(t testing.TB, text string) (*Doors, string) {
	t.Helper()
	path := certtest.Write(t, t.TempDir(), "tokens", []byte(text))
	d := check.Get(Open(Files{Tokens: path}, roles, time.Now, slog.New(slog.DiscardHandler),
		NewMetrics()))(t)
	return d, path
}

// roles has a method of each role.
var roles = map[string]Role{pb.RecommenderService_Recommend_FullMethodName: Recommend,
	"/a/Recommend": Recommend, "/a/Observe": Observe, "/a/User": User,
	"/a/Items": Items, "/a/Admin": Admin, "/a/Health": Anybody}

// Every method with every set of roles, without a token and with wrong ones.
func TestCheck(t *testing.T) {
	for set := range 1 << len(Roles()) {
		var has []string
		for i, role := range Roles() {
			if set>>i&1 == 1 {
				has = append(has, string(role))
			}
		}
		if len(has) == 0 {
			continue // a line has a role
		}
		token, line := newToken(t, "client", strings.Join(has, ","))
		_, other := newToken(t, "other", "recommend,observe,user,admin")
		d, _ := openTokens(t, "\ufeff"+other+line+"\r\n# comment\r\n")
		for method, role := range roles {
			err := d.Check(withToken("Bearer "+token), method)
			allowed := role == Anybody || slices.Contains(has, string(role))
			if denied := new(DeniedError); allowed && err != nil ||
				!allowed && (!errors.As(err, &denied) || *denied != DeniedError{"client", role}) {
				t.Errorf("%s with %v: %v", method, has, err)
			}
			for name, values := range map[string][]string{
				"no token": nil, "empty": {""}, "no scheme": {token}, "other scheme": {"Basic " + token},
				"wrong": {"Bearer " + token[:len(token)-1]}, "longer": {"Bearer " + token + "x"},
				"two": {"Bearer " + token, "Bearer " + token}, "nothing": {"Bearer "},
				"the hash": {"Bearer " + strings.Fields(line)[2]},
			} {
				err := d.Check(withToken(values...), method)
				if role == Anybody && err != nil || role != Anybody && err != ErrUnauthenticated {
					t.Errorf("%s, %s: %v", method, name, err)
				}
			}
		}
		if err := d.Check(withToken(), "/made.up/Method"); err != ErrUnauthenticated {
			t.Errorf("an unknown method without a token: %v", err)
		}
		check.Pass(t, d.Check(withToken("bearer "+token), "/made.up/Method"),
			"an unknown method with a token")
		check.Same(t, [2]string{"client"}, callerOf(withToken("Bearer "+token), d), "the caller")
		check.Same(t, [2]string{}, callerOf(withToken("Bearer none"), d), "an unknown caller")
	}
}

// callerOf is the name and the subject of a caller.
func callerOf(ctx context.Context, d *Doors) [2]string {
	name, subject := d.Caller(ctx)
	return [2]string{name, subject}
}

// Without a file of tokens a check costs nothing.
func TestCheckWithoutTokens(t *testing.T) {
	d := check.Get(Open(Files{}, roles, time.Now, slog.New(slog.DiscardHandler), NewMetrics()))(t)
	if d.Guarded() || d.Credentials() != nil {
		t.Error("doors without files guard something")
	}
	ctx := withToken()
	if n := testing.AllocsPerRun(100, func() {
		must(t, d.Check(ctx, pb.RecommenderService_Recommend_FullMethodName))
	}); n != 0 {
		t.Errorf("a check allocates %v times, want never", n)
	}
}

// A bad file is refused with the number of its line, and nothing of the line is shown: it may be a
// token. The forms of a line, at length, are told of a line of neither form. A $ is the end.
func TestBadTokenFiles(t *testing.T) {
	_, good := newToken(t, "a", "recommend")
	const canary = "gsimc_canary"
	hash := strings.Fields(good)[2]
	for text, want := range map[string]string{
		"":                   "there is no token in the file",
		"# only a comment\n": "there is no token in the file",
		good + canary + "\n": "tokens: line 2 has 1 words: a line is " + knownForm + ", or " +
			signedForm,
		"a recommend " + canary:              "line 1 has no hash of 64 hexadecimal digits",
		"a recommend " + hash[2:]:            "line 1 has no hash",
		"a " + canary + " " + hash:           "line 1 has a role that is not one of " + roleNames() + "$",
		"a recommend, " + hash:               "line 1 has a role that is not one of",
		canary + "/ recommend " + hash:       "tokens: line 1 has a name that is not " + nameForm + "$",
		good + "\n" + good:                   "line 3 has the hash of an earlier line",
		good + "b admin " + hash + " " + "x": "line 2 has 4 words",
		"a observe " + hash + " new-users=0": "line 1 has a number of new users a minute that is " +
			"not from 1 to 1000000$",
		"a observe " + hash + " new-users=" + canary:         "line 1 has a number of new users",
		"a observe " + hash + " calls=1 calls=2":             "line 1 has two numbers of calls a second",
		"a observe " + hash + " new-users=1 x new-users=2":   "line 1 has 6 words, and what follows",
		"a observe " + hash + " new-users=1 new-users=1":     "line 1 has two numbers of new users",
		"a observe " + hash + " calls=1 New-Users=" + canary: "line 1 has 5 words, and what follows",
	} {
		path := certtest.Write(t, t.TempDir(), "tokens", []byte(text))
		_, err := Open(Files{Tokens: path}, roles, time.Now, slog.New(slog.DiscardHandler),
			NewMetrics())
		if err == nil || !strings.Contains(err.Error(), "TokenFile: ") ||
			!strings.Contains(err.Error()+"$", want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for name, path := range map[string]string{"missing": "/nonexistent/tokens", "folder": t.TempDir()} {
		_, err := Open(Files{Tokens: path}, roles, time.Now, slog.New(slog.DiscardHandler),
			NewMetrics())
		check.Says(t, err, "TokenFile: "+path+": ", "%s", name)
	}
}

func TestNewToken(t *testing.T) {
	token, line := newToken(t, "web", "recommend,observe")
	if again, _ := newToken(t, "web", "recommend,observe"); token == again || len(token) != 49 {
		t.Errorf("two tokens: %s, %s", token, again)
	}
	if strings.Contains(line, token) || !strings.HasPrefix(line, "web recommend,observe ") {
		t.Errorf("the line is %q", line)
	}
	for _, bad := range [][2]string{{"", "admin"}, {"a b", "admin"}, {"a", ""}, {"a", "root"},
		{"#a", "admin"}, {"a", "admin, user"}} {
		if _, _, err := NewToken(bad[0], bad[1]); err == nil {
			t.Errorf("a token for %q", bad)
		}
	}
}

// A token counts from a change of the file on, and one that was removed counts no more. A file that
// is bad, missing or half written changes nothing and is counted once.
func TestTokensChange(t *testing.T) {
	first, firstLine := newToken(t, "first", "recommend")
	second, secondLine := newToken(t, "second", "recommend")
	d, path := openTokens(t, firstLine)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go d.Watch(ctx, 5*time.Millisecond)
	allows := func(token string) bool {
		return d.Check(withToken("Bearer "+token), pb.RecommenderService_Recommend_FullMethodName) == nil
	}
	write := func(text string) {
		certtest.Write(t, filepath.Dir(path), filepath.Base(path), []byte(text))
	}
	write(firstLine + secondLine)
	eventually(t, "both tokens count", func() bool { return allows(first) && allows(second) })
	write(secondLine[:20]) // half a line
	eventually(t, "the bad file is counted", func() bool {
		return reloads(t, d.metrics, "tokens", "failure") == 1
	})
	time.Sleep(50 * time.Millisecond)
	check.Same(t, 1.0, reloads(t, d.metrics, "tokens", "failure"),
		"times that the same bad file is counted")
	if !allows(first) || !allows(second) {
		t.Error("a bad file took tokens away")
	}
	write(secondLine)
	eventually(t, "the first token counts no more", func() bool { return !allows(first) })
	if !allows(second) {
		t.Error("the second token was removed too")
	}
	write(strings.TrimSpace(secondLine) + " new-users=7\n")
	eventually(t, "calls that are open have the limit", func() bool {
		l := d.NewUsers(withToken("Bearer " + second))
		return l != nil && l.Burst() == 7
	})
}

// Each token of a line with new-users=, and each subject of such a line of signed tokens, has a
// limit of its own, which fills within a minute. The limit stays for as long as it may owe.
func TestNewUsersOfALine(t *testing.T) {
	i := issuertest.New(t)
	known, line := newToken(t, "a", "observe")
	free, other := newToken(t, "b", "observe")
	d, c := openSigned(t, i, strings.TrimSpace(line)+" calls=9 new-users=2\n"+other+
		"c observe jwt ISSUER gsimc new-users=3 user=sub\n")
	begin := func(token string) (n int) {
		l := d.NewUsers(bearerOf(token))
		for range 10 {
			if l.AllowN(c.now(), 1) {
				n++
			}
		}
		return n
	}
	ann, bob := i.Sign(t, claims(i, nil)), i.Sign(t, claims(i, map[string]any{"sub": "bob"}))
	again := i.Sign(t, claims(i, map[string]any{"jti": "2"}))
	for minute := range int64(4) {
		check.Same(t, 2, begin(known), "users of a token that is known")
		check.Same(t, 3, begin(ann), "users of ann")
		check.Same(t, 3, begin(bob), "users of bob")
		check.Same(t, 0, begin(again), "users of another token of ann")
		c.Add(60 * (1 + minute%3))
	}
	if l := d.NewUsers(bearerOf(free)); l != nil {
		t.Errorf("the line without new-users= has the limit %v", l.Limit())
	}
	check.Same(t, 0, begin("made up"), "users of a token that does not count")
	check.Same(t, 2, begin(known), "users of a token after some minutes")
	c.Add(59) // there is room for one, and three begin
	d.NewUsers(bearerOf(known)).ReserveN(c.now(), 1)
	d.NewUsers(bearerOf(known)).ReserveN(c.now(), 2)
	c.Add(62)
	check.Same(t, 1, begin(known), "users a minute after too many")
}

// BenchmarkCheck measures the check of a call, by the number of tokens in the file.
func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{0, 1, 10, 1000} {
		b.Run(fmt.Sprint("tokens=", n), func(b *testing.B) {
			d, token := &Doors{}, "none"
			if n > 0 {
				var lines strings.Builder
				for range n {
					one, line := newToken(b, "a", "recommend")
					token = one
					lines.WriteString(line)
				}
				d, _ = openTokens(b, lines.String())
			}
			benchmarkCheck(b, d, token, nil)
		})
	}
	i := issuertest.New(b)
	d, _ := openSigned(b, i, "a recommend jwt ISSUER gsimc\n")
	good := i.Sign(b, claims(i, nil))
	b.Run("signed", func(b *testing.B) { benchmarkCheck(b, d, good, nil) })
	b.Run("forged", func(b *testing.B) {
		benchmarkCheck(b, d, good[:len(good)-20]+strings.Repeat("A", 20), ErrUnauthenticated)
	})
}

func benchmarkCheck(b *testing.B, d *Doors, token string, want error) {
	ctx := withToken("Bearer " + token)
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Check(ctx, pb.RecommenderService_Recommend_FullMethodName); err != want {
			b.Fatal(err)
		}
	}
}
