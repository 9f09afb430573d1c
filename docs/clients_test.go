package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestClientsAreQuoted: the clients that the page quotes are the very files that make clients-test
// runs.
func TestClientsAreQuoted(t *testing.T) {
	page := check.Get(os.ReadFile("clients.md"))(t)
	for _, name := range []string{
		"python/example.py", "java/example/Example.java", "examples/curl/example.sh",
	} {
		file := check.Get(os.ReadFile(filepath.Join("..", "client", name)))(t)
		if !strings.Contains(string(page), "\n"+string(file)+"```\n") {
			t.Errorf("clients.md does not quote client/%s as it is", name)
		}
	}
}
