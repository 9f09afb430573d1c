package serve

import (
	"fmt"
	"log/slog"

	"github.com/gsimc/gsimc/server"
	"github.com/gsimc/gsimc/store/pebble"
)

const (
	// ownFiles is about how many files are open besides connections and tables: logs, lists,
	// listeners, the model, the runtime's own.
	ownFiles = 64
	// otherFiles are all but the tables and the connections of clients.
	otherFiles = ownFiles + server.OperatorConnections
	// minFiles is the smallest limit of open files with which a server starts.
	minFiles = 256
)

// fitFiles shares a limit of open files among the tables of the store and connections. The tables
// get half of what is left of it, or what they can use.
func fitFiles(limit uint64, wanted int) (tables, connections int, err error) {
	if limit < minFiles {
		return 0, 0, fmt.Errorf("the limit of open files is %d, want at least %d: raise it with "+
			"ulimit -n", limit, minFiles)
	}
	limit = min(limit, 1<<30)
	left := int(limit) - otherFiles
	tables = min(pebble.DefaultOpenTables, left/2)
	return tables, min(wanted, left-tables), nil
}

// limitFiles makes the server keep within the limit of open files of the process. The Go runtime
// has raised the soft limit to the hard one.
func limitFiles(log *slog.Logger, wanted int) (tables, connections int, err error) {
	limit := openFilesLimit()
	tables, connections, err = fitFiles(limit, wanted)
	if err == nil && connections < wanted {
		log.Warn("the limit of open files bounds the connections: raise it with ulimit -n",
			slog.Uint64("limit", limit), slog.Int("connections", connections),
			slog.Int("max_connections", wanted))
	}
	return tables, connections, err
}
