package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/postgres"
)

func TestAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://u@h1,h2:5433/d?target_session_attrs=read-write": "",
		"postgresql:///d?host=/run/postgresql&profile=development":  "",
		"http://h/d":                             "no URL that begins with postgres://",
		"postgres://u:secret@h/d":                "it has a password",
		"postgres://u@h/d?password=secret":       "it has a password",
		"postgres://u@h/d?profile=secret":        "profile is neither",
		"postgres://u@h/d?schema=se cret":        "schema is to begin",
		"postgres://u@h/d?schema=pg_secret":      "schema is to begin",
		"postgres://u@h/d?sslmode=secret":        "libpq's rules refuse it",
		"postgres://u@h/d?pool_max_conns=secret": "libpq's rules refuse it",
	} {
		err := postgres.CheckAddress(text)
		if want == "" && err == nil {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || want == "" ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A server that cannot keep the strict profile is refused by the name of the setting.
func TestProfile(t *testing.T) {
	t.Parallel()
	soak.Only(t)
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{})
	refused := func(setting string) {
		t.Helper()
		_, err := postgres.Open(context.Background(), p.URL("postgres"))
		profile, ok := errors.AsType[*postgres.ProfileError](err)
		if !ok || profile.Setting != setting || !strings.Contains(err.Error(), "ALTER SYSTEM") {
			t.Errorf("%v, want a refusal of %s", err, setting)
		}
	}
	set := func(name, value string) {
		t.Helper()
		check.Must(t, p.Primary.Set(name, value))
	}
	refused("synchronous_standby_names")
	set("synchronous_standby_names", "*")
	set("synchronous_commit", "local")
	refused("synchronous_commit")
	set("fsync", "off")
	refused("fsync")

	s := openAt(t, p.URL("postgres")+"&profile=development")
	defer closeAll(t, s)
	check.Get(s.Append(context.Background(), one("first")))(t)
	if !s.Identity().Lags {
		t.Error("a store that may lose events says that it does not lag")
	}
	text := fmt.Sprint(s.Promises())
	for _, want := range []string{"no: fsync = off", "no: synchronous_standby_names = '*', " +
		"synchronous_commit = local"} {
		check.Has(t, text, want, "promises")
	}
}

func TestPromises(t *testing.T) {
	s := openAt(t, enginetest.SharedPostgres(t, true).URL("postgres")+"&schema="+
		enginetest.Namespace())
	defer closeAll(t, s)
	for _, p := range s.Promises()[:4] {
		if !strings.HasPrefix(p.Kept, "yes") {
			t.Errorf("%s: %s", p.Name, p.Kept)
		}
	}
}

// Several processes may open a new database at the same time. One of a later version is refused.
func TestSchema(t *testing.T) {
	p, schema := enginetest.SharedPostgres(t, true), enginetest.Namespace()
	url := p.URL("postgres") + "&schema=" + schema
	stores := make([]*postgres.Store, 4)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			var err error
			if stores[i], err = postgres.Open(context.Background(), url); err != nil {
				t.Errorf("Open: %v", err)
			}
		})
	}
	all.Wait()
	for _, s := range stores {
		if s == nil {
			continue
		}
		if s.Identity() != stores[0].Identity() {
			t.Error("two identities of one store")
		}
		closeAll(t, s)
	}
	check.Must(t, p.Primary.SQL("UPDATE "+schema+".store SET version = 99"))
	_, err := postgres.Open(context.Background(), url)
	newer, ok := errors.AsType[*postgres.SchemaError](err)
	if !ok || newer.Version != 99 || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("a newer schema: %v", err)
	}
}

// TestOldSchema opens tables as the first version made them.
func TestOldSchema(t *testing.T) {
	p, schema := enginetest.SharedPostgres(t, true), enginetest.Namespace()
	tables := string(check.Get(os.ReadFile("schema/0001.sql"))(t))
	check.Must(t, p.Primary.SQL("CREATE SCHEMA "+schema,
		strings.ReplaceAll(tables, "gsimc.", schema+"."),
		"INSERT INTO "+schema+".store VALUES (1, decode(repeat('0a', 16), 'hex'))",
		"INSERT INTO "+schema+".item VALUES ('i', 'title', '', '', false)"))
	s := openAt(t, p.URL("postgres")+"&schema="+schema)
	defer closeAll(t, s)
	check.Get(s.Append(context.Background(), one("first")))(t)
	item := store.Item{ID: "i", Title: "title"}
	for range 2 {
		got, _, err := s.Item(context.Background(), "i")
		check.Must(t, err)
		check.Same(t, item, got, "the item")
		item.Embedding = []float32{1, 2}
		check.Must(t, s.PutItems(context.Background(), []store.Item{item, {ID: "later"}}))
	}
	check.Must(t, p.Primary.SQL("UPDATE "+schema+`.item SET more = '\x630001' WHERE id = 'later'`))
	var ids []string
	err := s.EachItem(context.Background(), "", func(i store.Item) error {
		ids = append(ids, i.ID)
		return nil
	})
	damaged, _ := errors.AsType[*store.DamagedItemsError](err)
	if damaged == nil || !slices.Equal(damaged.IDs, []string{"later"}) ||
		!slices.Equal(ids, []string{"i"}) {
		t.Errorf("beside a field of a later program %v are read, and %v", ids, err)
	}
}

// TestLeastRights opens a store by a role that has the rights of docs/scale.md.
func TestLeastRights(t *testing.T) {
	soak.Native(t)
	p, schema := enginetest.SharedPostgres(t, true), enginetest.Namespace()
	role := "r" + schema
	check.Must(t, p.Primary.SQL("CREATE ROLE "+role+" LOGIN"))
	url := strings.Replace(p.URL("postgres"), "gsimc@", role+"@", 1) + "&schema=" + schema
	_, err := postgres.Open(context.Background(), url)
	if _, ok := errors.AsType[*postgres.SchemaError](err); !ok {
		t.Errorf("a role without rights: %v, want a SchemaError", err)
	}
	closeAll(t, openAt(t, p.URL("postgres")+"&schema="+schema))
	check.Must(t, p.Primary.SQL(grants(t, schema, role)...))
	s := openAt(t, url)
	defer closeAll(t, s)
	ctx := context.Background()
	_, err = s.Append(ctx, one("first"))
	_, eraseErr := s.Erase(ctx, "u")
	_, rewriteErr := s.Rewrite(ctx, []string{"u"}, func([][]store.Event) [][]store.Event {
		return [][]store.Event{{one("second")[0].Event}}
	})
	_, held, leaseErr := s.Lease(ctx, "l", "h", 1e9)
	for what, err := range map[string]error{
		"Append": err, "Erase": eraseErr, "Rewrite": rewriteErr, "Lease": leaseErr,
		"Each":     s.Each(ctx, 0, 1, func(string, store.Version) error { return nil }),
		"PutItems": s.PutItems(ctx, []store.Item{{ID: "i"}}),
		"PutNote":  s.PutNote(ctx, "t", "n", nil, store.Fence{Lease: "l", Term: 1}),
		"DeleteNotes": s.DeleteNotes(ctx, "t", []string{"n"},
			store.Fence{Lease: "l", Term: 1}),
		"Release": s.Release(ctx, "l", "h"), "DeleteItems": s.DeleteItems(ctx, []string{"i"}),
	} {
		check.Pass(t, err, "%s by the role", what)
	}
	if _, err := s.Stats(ctx); err != nil || !held {
		t.Errorf("Stats: %v; lease held: %v", err, held)
	}
}

// grants are the statements of docs/scale.md that give a role its rights.
func grants(t *testing.T, schema, role string) []string {
	t.Helper()
	page := check.Get(os.ReadFile("../../docs/scale.md"))(t)
	_, text, found := strings.Cut(string(page), "```sql\n")
	text, _, ended := strings.Cut(text, "```")
	if !found || !ended {
		t.Fatal("docs/scale.md has no block of SQL")
	}
	text = strings.NewReplacer("gsimc_server", role, "SCHEMA gsimc", "SCHEMA "+schema).Replace(text)
	return strings.Split(strings.TrimSuffix(text, ";\n"), ";\n")
}

// TestTLSAndPasswords connects with verify-full and a password from a file, and refuses a server of
// another authority. Errors and promises have no password. A store that is open goes on with a new
// password and another authority when their files have been exchanged.
func TestTLSAndPasswords(t *testing.T) {
	ours, others := certtest.NewAuthority(t), certtest.NewAuthority(t)
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{})
	pair := ours.Issue(t, 1, time.Now().Add(time.Hour))
	for name, text := range map[string][]byte{"server.crt": pair.Cert, "server.key": pair.Key} {
		check.Must(t, p.WriteFile(name, text))
	}
	const secret = "a secret: with \\ signs"
	check.Must(t, p.Primary.SQL("CREATE ROLE app LOGIN SUPERUSER PASSWORD '"+secret+"'"))
	check.Must(t, p.WriteFile("pg_hba.conf", []byte("host all gsimc 127.0.0.1/32 trust\n"+
		"hostssl all app 127.0.0.1/32 scram-sha-256\n")))
	check.Must(t, p.Primary.Set("ssl", "on"))
	dir := t.TempDir()
	password := func(text string) {
		t.Helper()
		file := filepath.Join(dir, "passwords")
		text = strings.NewReplacer("\\", "\\\\", ":", "\\:").Replace(text)
		check.Must(t, os.WriteFile(file, []byte("*:*:*:app:"+text+"\n"), 0o600))
		t.Setenv("PGPASSFILE", file)
	}
	password(secret)
	for name, a := range map[string]*certtest.Authority{"ours": ours, "others": others} {
		check.Must(t, os.WriteFile(filepath.Join(dir, name), a.PEM, 0o600))
	}
	url := strings.Replace(strings.Replace(p.URL("postgres"), "gsimc@", "app@", 1),
		"sslmode=disable",
		"sslmode=verify-full&profile=development&sslrootcert="+filepath.Join(dir, "ours"), 1)
	s := openAt(t, url)
	check.Lacks(t, fmt.Sprint(s.Promises()), secret, "promises, which may not have the password")
	_, err := postgres.Open(context.Background(), strings.Replace(url, "/ours", "/others", 1))
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), secret) {
		t.Errorf("a server of another authority: %v", err)
	}
	password("wrong: " + secret)
	_, err = postgres.Open(context.Background(), url)
	_, refused := errors.AsType[*store.RefusedError](err)
	if !refused || strings.Contains(err.Error(), "secret") {
		t.Errorf("another password: %v, want a RefusedError", err)
	}

	renewed := others.Issue(t, 2, time.Now().Add(time.Hour))
	err = errors.Join(p.WriteFile("server.crt", renewed.Cert),
		p.WriteFile("server.key", renewed.Key),
		os.WriteFile(filepath.Join(dir, "ours"), others.PEM, 0o600),
		p.Primary.SQL("ALTER ROLE app PASSWORD 'wrong: "+secret+"'", "SELECT pg_reload_conf()",
			"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'"))
	check.Must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	check.Get(s.Append(ctx, one("first")))(t) // after all has been exchanged
	closeAll(t, s)
}
