package cli

import (
	"strings"
	"testing"
)

func TestIDText(t *testing.T) {
	for user, want := range map[string]string{
		"alice": "alice", "zoë 7": "zoë 7", "a\nb": `"a\nb"`, `"a"`: `"\"a\""`, "\xff": `"\xff"`,
		" ": `" "`, "a ": `"a "`, "": "",
	} {
		if got := IDText(user); got != want {
			t.Errorf("%q is listed as %s, want %s", user, got, want)
		}
	}
}

// What an item is called moves no cursor.
func TestTablesArePlain(t *testing.T) {
	var out strings.Builder
	PrintTable(&out, [][]string{{"item", "title"}, {"a", "\x1b[2Jx"}, {"b\r", "é"},
		{"c", "\u202ex"}})
	if got, want := out.String(), "  item   title\n  a      \"\\x1b[2Jx\"\n  \"b\\r\"  é\n"+
		"  c      \"\\u202ex\"\n"; got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
}
