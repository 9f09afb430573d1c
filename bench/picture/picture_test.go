package main

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestDrawing(t *testing.T) {
	names := titles{
		"1": "A < B & C",
		"2": "A title of many more words than fit a row",
		"9": "The like",
	}
	lists := []list{{items: []string{"1", "2"}}, {liked: "9", items: []string{"2", "3"}}}
	got := string(drawing(lists, names, "from a test"))
	decoder := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("no XML: %v\n%s", err, got)
		}
	}
	for what, want := range map[string]int{
		"<path":       1, // item 2 stays
		`"` + newFill: 1, // item 3 is new
		"A &lt; B":    1,
		"The like":    1,
		">3<":         1, // without a title
		"from a test": 1,
		"…":           2,
	} {
		check.Same(t, want, strings.Count(got, what), "%q stands there:\n%s", what, got)
	}
}

func TestTitles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "items.csv")
	check.Must(t, os.WriteFile(path, []byte("title,item_id\n\"One, two\",1\n"), 0o600))
	names := check.Get(readTitles(path))(t)
	if names.of("1") != "One, two" || names.of("2") != "2" {
		t.Errorf("titles %v", names)
	}
	check.Must(t, os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600))
	check.Says(t, check.Err(readTitles(path)), "want item_id", "a file without titles")
}

func TestFlags(t *testing.T) {
	if err := run(context.Background(), []string{"--data", "x"}); err == nil {
		t.Error("missing flags are not refused")
	}
}
