package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

var storeIDInLog = regexp.MustCompile(`a new store begins.*"store_id":"([0-9a-f]{12})"`)

// A start that names its store takes no other, and none in a folder that was emptied.
func TestStoreID(t *testing.T) {
	dir := t.TempDir()
	first := startServe(t, "", dir)
	found := storeIDInLog.FindStringSubmatch(first.log.String())
	first.mustStop(t)
	if found == nil {
		t.Fatalf("the first start names no store:\n%s", first.log)
	}
	again := startServe(t, "", dir, "--store-id", found[1])
	again.mustStop(t)
	check.Lacks(t, again.log.String(), "a new store begins", "log of the second start")
	says(t, "the log of a start without a model", again.log.String(), `"msg":"starting"`,
		`"store_id":"`+found[1]+`","model":"none"`)
	refused(t, cli.ExitFailure, "the store is "+found[1],
		serveFlags("--data-dir", dir, "--store-id", "0123456789ab")...)
	check.Must(t, os.Rename(filepath.Join(dir, "histories"), filepath.Join(t.TempDir(), "away")))
	check.Must(t, os.Remove(filepath.Join(dir, "MARK")))
	refused(t, cli.ExitFailure, "has no store",
		serveFlags("--data-dir", dir, "--store-id", found[1])...)
	if _, err := os.Stat(filepath.Join(dir, "histories")); !os.IsNotExist(err) {
		t.Errorf("a refused start has begun a store: %v", err)
	}
}
