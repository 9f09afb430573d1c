package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"google.golang.org/genproto/googleapis/rpc/errdetails"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/enginetest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// engine is a store with a user "app", who has a password.
type engine struct {
	url, env string // of a server
	// add gives the user a password besides the one there is, if users may have two; only takes the
	// others away, and cut ends all connections of the user.
	add, only func(password string) error
	cut       func() error
}

// engines are the stores whose passwords can change. The server reads them from file.
var engines = map[string]struct {
	start func(t *testing.T, file string) engine
	line  string // of the file, with the password
}{
	"valkey":   {redisWithPassword, "%s\n"},
	"postgres": {postgresWithPassword, "*:*:*:app:%s\n"},
}

func redisWithPassword(t *testing.T, file string) engine {
	c := enginetest.Redis(t, enginetest.RedisConfig{Primaries: 1, Replicas: 1})
	all := func(words ...string) error {
		for _, n := range c.Nodes {
			if _, err := n.Do(words...); err != nil {
				return err
			}
		}
		return nil
	}
	return engine{
		url: "valkey://" + strings.Join(c.Addrs(), ",") + "/n?user=app&password-file=" + file,
		add: func(password string) error {
			return all("ACL", "SETUSER", "app", "on", ">"+password, "~*", "+@all")
		},
		only: func(password string) error {
			return all("ACL", "SETUSER", "app", "resetpass", ">"+password)
		},
		cut: func() error { return all("CLIENT", "KILL", "USER", "app") },
	}
}

func postgresWithPassword(t *testing.T, file string) engine {
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{})
	check.Must(t, p.Primary.SQL("CREATE ROLE app LOGIN SUPERUSER"))
	check.Must(t, p.WriteFile("pg_hba.conf", []byte("host all gsimc 127.0.0.1/32 trust\n"+
		"host all app 127.0.0.1/32 scram-sha-256\n")))
	check.Must(t, p.Primary.SQL("SELECT pg_reload_conf()"))
	set := func(password string) error {
		return p.Primary.SQL("ALTER ROLE app PASSWORD '" + password + "'")
	}
	return engine{
		url: strings.Replace(p.URL("postgres"), "gsimc@", "app@", 1) + "&profile=development",
		env: "PGPASSFILE=" + file,
		add: set, only: set,
		cut: func() error {
			return p.Primary.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
				"WHERE usename = 'app'")
		},
	}
}

// The password of a shared store changes, and all connections to it break: no call fails if the
// file of the password has the new one in time. Otherwise calls are UNAVAILABLE, /readyz says that
// the password is refused, and all goes on when the file has it.
func TestStorePasswordChanges(t *testing.T) {
	soak.Processes(t, "the real binary")
	t.Parallel()
	_, model := smallModel(t)
	for name, kind := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "password")
			write := func(password string) {
				t.Helper()
				replace(t, file, fmt.Sprintf(kind.line, password))
			}
			e := kind.start(t, file)
			check.Must(t, e.add("first"))
			write("first")
			server := start(t, []string{e.env}, "--store", e.url, "--extend-every", "0s",
				"--model", model, "--drain-delay", "0s", "--max-timeout", "1m")
			calls := pb.NewEventServiceClient(server.client(t))
			patient, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			sent := 0
			observe := func(ctx context.Context) error {
				sent++
				_, err := calls.Observe(ctx, &pb.ObserveRequest{Event: &pb.Event{UserId: "u",
					EventId: fmt.Sprint(sent), ItemId: "item-1"}})
				return err
			}
			for _, password := range []string{"second", "third"} {
				check.Must(t, observe(patient))
				check.Must(t, e.add(password))
				check.Must(t, observe(patient)) // connections that are there live on
				write(password)
				check.Must(t, e.only(password))
				check.Must(t, e.cut())
				check.Must(t, observe(patient))
			}
			check.Must(t, e.only("fourth"))
			check.Must(t, e.cut())
			err := observe(t.Context()) // until the default of the server
			if reason := reasonOf(err); status.Code(err) != codes.Unavailable ||
				reason != "STORE_UNAVAILABLE" {
				t.Errorf("refused by the store: %v, %s, want UNAVAILABLE", err, reason)
			}
			if page := server.page(t, "/readyz"); !strings.Contains(page, "ok, but the store "+
				"refuses the password of this server") {
				t.Errorf("/readyz says %q", page)
			}
			write("fourth")
			check.Must(t, observe(patient))
			await(t, "/readyz is good again", func() bool {
				return server.page(t, "/readyz") == "ok\n"
			})
			server.mustStop(t)
		})
	}
}

// reasonOf returns the reason of a call that failed.
func reasonOf(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
