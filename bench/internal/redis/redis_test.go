package redis

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestCommand(t *testing.T) {
	want := "*3\r\n$5\r\nRPUSH\r\n$1\r\nk\r\n$3\r\na\r\n\r\n"
	got := string(appendCommand(nil, []byte("RPUSH"), []byte("k"), []byte("a\r\n")))
	check.Same(t, want, got, "command")
}

func TestVersion(t *testing.T) {
	line := "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1"
	check.Same(t, "7.0.15", versionOf(line), "version")
	check.Same(t, "unknown", versionOf("something else"), "version of a text without one")
}

// TestAppend talks to a server that answers as it is told.
func TestAppend(t *testing.T) {
	for _, c := range []struct{ name, answer, message string }{
		{"both appended", ":1\r\n:2\r\n", ""},
		{"the second refused", ":1\r\n-MISCONF cannot write\r\n", "MISCONF cannot write"},
		{"the connection ends", ":1\r\n", "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			got := make(chan string, 1)
			go func() {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				request := make([]byte, len("*3\r\n$5\r\nRPUSH\r\n$1\r\nu\r\n$1\r\nx\r\n")*2)
				_, _ = io.ReadFull(bufio.NewReader(conn), request)
				got <- string(request)
				_, _ = conn.Write([]byte(c.answer))
				_ = conn.Close()
			}()
			conn, err := Dial(l.Addr().String())
			check.Must(t, err)
			err = conn.Append([]string{"u", "v"}, [][]byte{[]byte("x"), []byte("y")})
			if (err == nil) != (c.message == "") ||
				err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want %q", err, c.message)
			}
			if request := <-got; !strings.Contains(request, "u\r\n$1\r\nx") ||
				!strings.HasSuffix(request, "v\r\n$1\r\ny\r\n") {
				t.Errorf("request %q", request)
			}
			_ = conn.Close()
			_ = l.Close()
		})
	}
}
