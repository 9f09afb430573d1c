package postgres

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/store"
)

// Each error of the server has its meaning for the store, and none tells what was in a statement.
func TestExplain(t *testing.T) {
	other := errors.New("another error")
	for code, want := range map[string]error{
		"53100": store.ErrFull, "XX001": store.ErrCorrupt, "XX002": store.ErrCorrupt,
		"57P01": store.ErrUnavailable, "57P03": store.ErrUnavailable, "53300": store.ErrUnavailable,
		"08006": store.ErrUnavailable, "25006": store.ErrUnavailable, "40P01": store.ErrUnavailable,
		"40001": store.ErrUnavailable, "55P03": store.ErrUnavailable, "GS001": store.ErrUnavailable,
		"28P01": store.ErrUnavailable,
		"28000": store.ErrUnavailable, "42501": other, "22021": other, "": other,
	} {
		got := explain(&pgconn.PgError{Code: code, Message: "a message", Detail: "Key (u)=(id)"})
		again := explain(got)
		for _, err := range []error{got, again} {
			for _, sentinel := range []error{store.ErrFull, store.ErrCorrupt, store.ErrUnavailable} {
				if errors.Is(err, sentinel) != (sentinel == want) {
					t.Errorf("%q: %v, want %v", code, err, want)
				}
			}
			if err == nil || strings.Contains(err.Error(), "Key") {
				t.Errorf("%q: %v", code, err)
			}
		}
	}
	check.Fails(t, explain(io.ErrUnexpectedEOF), store.ErrUnavailable, "a broken connection")
	for _, err := range []error{store.ErrClosed, store.ErrLeaseLost, errBadAnswer, nil} {
		if got := explain(err); got != err { //nolint:errorlint // the same value
			t.Errorf("%v has become %v", err, got)
		}
	}
}

// A connection gets the password that its file has at that moment.
func TestPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	a := check.Get(parseAddress("postgres://u@h/d?password-file=" + file))(t)
	c := a.config.ConnConfig.Copy()
	check.Fails(t, a.refresh(c), store.ErrUnavailable, "without the file")
	for _, want := range []string{"first", "the second"} {
		check.Must(t, os.WriteFile(file, []byte(want+"\n"), 0o600))
		if err := a.refresh(c); err != nil || c.Password != want {
			t.Errorf("the password %q, %v, want %q", c.Password, err, want)
		}
	}
}

// A shard of Each has the users of the partitions that it reads.
func TestPartsOf(t *testing.T) {
	for of := 1; of <= 40; of++ {
		for shard := range of {
			parts := "," + partsOf(shard, of) + ","
			for hash := shard; hash < 40*of; hash += of {
				part := hash % partitions
				if !strings.Contains(parts, fmt.Sprintf(",%d,", part)) {
					t.Fatalf("shard %d of %d lacks partition %d: %s", shard, of, part, parts)
				}
			}
		}
	}
}
