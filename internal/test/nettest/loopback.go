package nettest

import (
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"testing"
)

// Loopback returns an address for --listen that only this test uses. It is for servers that end
// while clients know their address: a port of 127.0.0.1 may come to a server of another test then,
// which takes the calls. On Linux the loopback interface has all of 127.0.0.0/8, elsewhere one
// address.
func Loopback(tb testing.TB) string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, os.Getpid(), tb.Name())
	n := h.Sum32()
	return fmt.Sprintf("127.%d.%d.%d:0", 1+n%254, n>>8%256, 1+n>>16%254)
}
