package enginetest_test

import (
	"context"
	"testing"

	"github.com/gsimc/gsimc/internal/test/enginetest"
)

// count returns the rows of the table "t".
func count(t *testing.T, n *enginetest.PostgresNode) (rows int) {
	t.Helper()
	c, err := n.Connect(context.Background(), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if err := c.QueryRow(context.Background(), "SELECT count(*) FROM t").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestPostgresProcesses(t *testing.T) {
	p := enginetest.NewPostgres(t, enginetest.PostgresConfig{Standby: true})
	if err := p.Primary.SQL("CREATE TABLE t AS SELECT 1"); err != nil {
		t.Fatal(err)
	}
	p.Primary.StopImmediate()
	if p.Primary.Running() {
		t.Error("the primary runs after StopImmediate")
	}
	if err := p.Primary.Start(); err != nil {
		t.Fatal(err)
	}
	if err := p.Primary.SQL("INSERT INTO t VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	p.Primary.Kill()
	if err := p.Promote(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, p.Primary); n != 2 {
		t.Errorf("the new primary has %d rows", n)
	}
	if err := p.AddStandby(); err != nil {
		t.Fatal(err)
	}
	if err := p.Primary.SQL("INSERT INTO t VALUES (3)"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, p.Standby); n != 3 {
		t.Errorf("the new standby has %d rows", n)
	}
}
