package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientsAreQuoted: the clients that the page quotes are the very files that make clients-test
// runs.
func TestClientsAreQuoted(t *testing.T) {
	page, err := os.ReadFile("clients.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"python/example.py", "examples/curl/example.sh"} {
		file, err := os.ReadFile(filepath.Join("..", "client", name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "\n"+string(file)+"```\n") {
			t.Errorf("clients.md does not quote client/%s as it is", name)
		}
	}
}
