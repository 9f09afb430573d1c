package call

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/learn/dataset"
)

// A column that is not read is told with the field that it may be meant for.
func TestImportSuggestsColumns(t *testing.T) {
	i := &itemImport{unread: map[string]struct{}{}}
	for name, want := range map[string]string{"titel": `"titel" (did you mean title?)`,
		"Category": `"Category" (did you mean categories?)`, "year": `"year"`, "no": `"no"`} {
		i.noteUnread(name)
		if _, there := i.unread[want]; !there {
			t.Errorf("%s is told as %v, want %s", name, i.unread, want)
		}
	}
}

// Errors call standard input alike, whether the reader or the server has something against a row.
func TestImportNamesStandardInput(t *testing.T) {
	i := &itemImport{ItemsImport: &ItemsImport{File: "-"}, met: map[string]struct{}{"a": {}}}
	err := i.add(dataset.ItemRow{ID: "a", Fields: dataset.ItemFields, Line: 3})
	if err == nil || !strings.HasPrefix(err.Error(), "standard input:3: column item_id: ") {
		t.Errorf("an item that comes twice: %v", err)
	}
}
