package serve

import (
	"math"
	"testing"

	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store/pebble"
)

func TestFitFiles(t *testing.T) {
	for _, c := range []struct {
		limit               uint64
		wanted              int
		tables, connections int
	}{
		{minFiles, 4096, 32, 32},
		{1024, 4096, 416, 416},
		{1024, 10, 416, 10},
		{4096, 4096, pebble.DefaultOpenTables, 4096 - otherFiles - pebble.DefaultOpenTables},
		{1 << 20, 4096, pebble.DefaultOpenTables, 4096},
		{math.MaxUint64, 4096, pebble.DefaultOpenTables, 4096},
	} {
		tables, connections, err := fitFiles(c.limit, c.wanted)
		if tables != c.tables || connections != c.connections || err != nil {
			t.Errorf("fitFiles(%d, %d) = %d, %d, %v, want %d, %d", c.limit, c.wanted, tables,
				connections, err, c.tables, c.connections)
		}
		if uint64(tables+connections+server.OperatorConnections+ownFiles) > c.limit {
			t.Errorf("fitFiles(%d, %d) gives away more than there is", c.limit, c.wanted)
		}
	}
	if _, _, err := fitFiles(minFiles-1, 1); err == nil {
		t.Error("a limit that is too small is accepted")
	}
}
