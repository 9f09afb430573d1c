package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schemaVersion is the version of the schema that this package works with.
const schemaVersion = 3

// migrationLock is the key of the advisory lock under which schemas change: "gsimc" in ASCII.
const migrationLock = 0x6773696d63

// SchemaError refuses a database with a schema that this program cannot work with.
type SchemaError struct {
	// Version is that of the database, 0 without tables, and Wanted that of this program.
	Version, Wanted int
	// Err is why an older one was not changed, or nil.
	Err error
}

// Error says what to do.
func (e *SchemaError) Error() string {
	if e.Version > e.Wanted {
		return fmt.Sprintf("the tables of the store have version %d and this gsimc knows %d: use "+
			"the gsimc that made them, or a later one", e.Version, e.Wanted)
	}
	return fmt.Sprintf("the tables of the store have version %d, want %d, and this role may not "+
		"change them (%v): open the store once as the owner of the database", e.Version, e.Wanted,
		e.Err)
}

// Unwrap returns why the tables were not changed.
func (e *SchemaError) Unwrap() error { return e.Err }

// inSchema puts the name of a schema into SQL that says "gsimc.".
func inSchema(sql, schema string) string {
	return strings.ReplaceAll(sql, "gsimc.", schema+".")
}

// migrate brings the tables to schemaVersion. Several processes may do so at the same time.
func migrate(ctx context.Context, c *pgx.Conn, schema string) error {
	version, err := versionOf(ctx, c, schema)
	if err != nil {
		return explain(err)
	}
	if version > schemaVersion {
		return &SchemaError{Version: version, Wanted: schemaVersion}
	}
	if version == schemaVersion {
		return nil
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return raise(ctx, tx, schema) })
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42501" {
		return &SchemaError{Version: version, Wanted: schemaVersion, Err: explain(err)}
	}
	return explain(err)
}

// versionOf returns the version of the tables, 0 if there are none.
func versionOf(
	ctx context.Context, c interface {
		QueryRow(context.Context, string, ...any) pgx.Row
	}, schema string,
) (version int, err error) {
	var there bool
	err = c.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", schema+".store").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = c.QueryRow(ctx, inSchema("SELECT version FROM gsimc.store", schema)).Scan(&version)
	return version, err
}

func raise(ctx context.Context, tx pgx.Tx, schema string) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
		return err
	}
	version, err := versionOf(ctx, tx, schema)
	if err != nil || version >= schemaVersion {
		return err // another process was faster
	}
	if version == 0 {
		var there bool
		err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there)
		if err == nil && !there {
			_, err = tx.Exec(ctx, "CREATE SCHEMA "+schema)
		}
		if err != nil {
			return err
		}
	}
	for v := version + 1; v <= schemaVersion; v++ {
		text, err := schemaFiles.ReadFile(fmt.Sprintf("schema/%04d.sql", v))
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, inSchema(string(text), schema)); err != nil {
			return err
		}
	}
	if version == 0 {
		id := make([]byte, 16)
		_, _ = rand.Read(id) // never fails
		_, err = tx.Exec(ctx, inSchema("INSERT INTO gsimc.store VALUES ($1, $2)", schema),
			schemaVersion, id)
	} else {
		_, err = tx.Exec(ctx, inSchema("UPDATE gsimc.store SET version = $1", schema),
			schemaVersion)
	}
	return err
}
