package standalone

import (
	"io"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// The warnings of the server are printed, except two about which a user of standalone can do
// nothing: of a flag that standalone lacks, and of work that ends with the process.
func TestServerLog(t *testing.T) {
	var out strings.Builder
	l := &serverLog{out: &out, ready: make(chan addresses, 1)}
	disk := `{"level":"WARN","msg":"the disk is slow"}` + "\n"
	check.Get(io.WriteString(l, `{"level":"INFO","msg":"drained"}`+"\n"+disk+
		`{"level":"WARN","msg":"background work does not end: leaving it behind"}`+"\n"))(t)
	check.Same(t, disk, out.String(), "what is passed on")
}
