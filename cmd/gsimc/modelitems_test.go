package main

import (
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/model"
)

func TestModelItems(t *testing.T) {
	_, path := smallModel(t)
	m := check.Get(model.Open(path))(t)
	first := m.ItemID(m.Popular()[0])
	items := m.NumItems()
	check.Must(t, m.Close())
	titles := writeFile(t, "items.csv", "item_id,title,categories\n"+first+",The Best,\n")
	got := strings.Split(strings.TrimSpace(mustRun(t, "model", "items", path, "--top", "3",
		"--items-file", titles)), "\n")
	if len(got) != 4 || !strings.Contains(got[0], "title") || !strings.Contains(got[1], first) ||
		!strings.HasSuffix(got[1], "The Best") {
		t.Errorf("got %q, want a header, and 3 items of which the first is %s", got, first)
	}
	if all := strings.Count(mustRun(t, "model", "items", path, "--top", "0"),
		"\n"); all != items+1 {
		t.Errorf("%d lines, want a header and %d items", all, items)
	}
	refused(t, cli.ExitFailure, "--items-file: "+path+".absent: no such file", "model", "items",
		path, "--items-file", path+".absent")
}
