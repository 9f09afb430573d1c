package call

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/learn/dataset"
)

// Errors call standard input alike, whether the reader or the server has something against a row.
func TestImportNamesStandardInput(t *testing.T) {
	i := &itemImport{ItemsImport: &ItemsImport{File: "-"}, met: map[string]struct{}{"a": {}}}
	err := i.add(dataset.ItemRow{ID: "a", Fields: dataset.ItemFields, Line: 3})
	if err == nil || !strings.HasPrefix(err.Error(), "standard input:3: column item_id: ") {
		t.Errorf("an item that comes twice: %v", err)
	}
}
