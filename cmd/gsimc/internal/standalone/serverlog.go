package standalone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// addresses are those that a server listens on, and that of the console; empty: there is none.
type addresses struct{ GRPC, Admin, Ops, JSON, Console string }

// serverLog takes the log of gsimc serve, as lines of JSON: it passes warnings and errors on, says
// once where the server is, and leaves out the rest. The server writes a line at a time.
type serverLog struct {
	out   io.Writer
	ready chan addresses // has room for one
	rest  []byte         // of a line without an end
}

// Write implements [io.Writer].
func (l *serverLog) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = append([]byte{}, rest...)
		var record struct {
			Level, Msg string
			StoreID    string `json:"store_id"`
			addresses
		}
		switch err := json.Unmarshal(line, &record); {
		case err != nil: // the error that ends the command
			fmt.Fprintln(l.out, string(line))
		case record.StoreID != "" && strings.HasPrefix(record.Msg, "a new store begins"):
			// It tells of a flag that standalone lacks.
		case strings.HasPrefix(record.Msg, "background work does not end"):
			// The process ends next, and the work with it.
		case record.Level == "WARN" || record.Level == "ERROR":
			fmt.Fprintln(l.out, string(line))
		case record.Msg == "serving":
			select {
			case l.ready <- record.addresses:
			default:
			}
		}
	}
}
