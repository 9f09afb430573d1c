package postgres

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gsimc/gsimc/store"
)

// address is where the store is and how it is to be opened.
type address struct {
	strict   bool
	schema   string
	password string          // a file with nothing but the password; empty: none
	url      string          // with libpq's parameters only
	config   *pgxpool.Config // of the url, with what its files said at the beginning
}

// AddressError refuses an address. Its text has nothing of the address but names of parameters.
type AddressError struct{ Problem string }

// Error says what is wrong with the address.
func (e *AddressError) Error() string { return "the address of the store: " + e.Problem }

// schemaName are the names of schemas that need no quotes.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,39}$`)

// parseAddress understands an address. Its errors never hold the address: it may have a secret.
func parseAddress(text string) (*address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, &AddressError{"it is no URL that begins with postgres://"}
	}
	query := u.Query()
	if _, has := u.User.Password(); has || query.Has("password") {
		return nil, &AddressError{"it has a password, which other users of the machine can see: " +
			"put it into the file of password-file or PGPASSFILE, or into PGPASSWORD"}
	}
	a := &address{strict: true, schema: "gsimc"}
	switch profile := query.Get("profile"); profile {
	case "", "strict":
	case "development":
		a.strict = false
	default:
		return nil, &AddressError{"profile is neither strict nor development"}
	}
	if query.Has("schema") {
		a.schema = query.Get("schema")
	}
	if !schemaName.MatchString(a.schema) || strings.HasPrefix(a.schema, "pg_") {
		return nil, &AddressError{"schema is to begin with a small letter and to have at most 40 " +
			"small letters, digits and underscores"}
	}
	a.password = query.Get("password-file")
	for _, name := range []string{"profile", "schema", "password-file"} {
		query.Del(name)
	}
	if !query.Has("connect_timeout") {
		query.Set("connect_timeout", "5")
	}
	u.RawQuery = query.Encode()
	a.url = u.String()
	if a.config, err = pgxpool.ParseConfig(a.url); err != nil {
		return nil, &AddressError{"libpq's rules refuse it: check hosts, ports, sslmode and " +
			"target_session_attrs, and the files that PGPASSFILE and sslrootcert name"}
	}
	if !query.Has("pool_max_conns") {
		a.config.MaxConns = readers
	}
	for name, value := range session {
		if params := a.config.ConnConfig.RuntimeParams; params[name] == "" {
			params[name] = value
		}
	}
	return a, nil
}

// refresh gives a configuration what the files of the address say now: the password, the
// certificate and the authorities.
func (a *address) refresh(c *pgx.ConnConfig) error {
	now, err := pgxpool.ParseConfig(a.url)
	if err != nil { // without its text, which has the address
		return fmt.Errorf("%w: the files that PGPASSFILE, sslcert, sslkey and sslrootcert name "+
			"cannot be used: %w", store.ErrUnavailable, errors.Unwrap(err))
	}
	fresh := now.ConnConfig
	c.Password, c.TLSConfig, c.Fallbacks = fresh.Password, fresh.TLSConfig, fresh.Fallbacks
	if a.password == "" {
		return nil
	}
	text, err := os.ReadFile(a.password)
	if err != nil {
		return fmt.Errorf("%w: password-file: %w", store.ErrUnavailable, err)
	}
	c.Password = strings.TrimRight(string(text), "\r\n")
	return nil
}

// session are the settings of connections that the address does not have. A server whose client is
// gone without a word notices it in some 20 seconds, so that its locks do not stay.
var session = map[string]string{
	"application_name":                    "gsimc",
	"jit":                                 "off", // plans of a millisecond would be compiled
	"idle_in_transaction_session_timeout": "30s",
	"lock_timeout":                        "10s", // the call is repeated
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "3",
	"tcp_keepalives_count":                "3",
}

// partitions is the number of partitions of the schema.
const partitions = 16

// partition returns the partition of a user.
func partition(user string) int16 { return int16(store.Shard(user, partitions)) }
