package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/soak"
	"github.com/gsimc/gsimc/kalman"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
)

// writeSplit writes the roles of users to a file.
func writeSplit(t *testing.T, d *dataset.Interactions, split dataset.Split) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("user_id,role\n")
	for u, role := range split {
		fmt.Fprintf(&text, "%s,%s\n", d.Users[u], role)
	}
	return writeFile(t, "split.csv", text.String())
}

// TestTrainChooses: rank, ridge and bands are chosen unless they are given or --quick keeps the
// defaults, the output and the model say so, and evaluate chooses likewise.
func TestTrainChooses(t *testing.T) {
	dir := t.TempDir()
	events, path := filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "model.gsimc")
	mustRun(t, "generate", "--users", "500", "--items", "300", "--events", "9000", "--out", events)
	d, _, err := dataset.Read([]string{events}, dataset.Options{})
	check.Must(t, err)
	split := writeSplit(t, d, dataset.SeededSplit(d.NumUsers(), 1))
	cases := []struct{ flags, says, command string }{
		{"", " of 256, ridge ", "--rank"},
		{"--rank 40", "rank 40 of 40, ridge ", "--ridge"},
		{"--ridge 0.5", " of 256, ridge 0.5, ", "--rank"},
		{"--rank 40 --ridge 0.5", "rank 40 of 40, ridge 0.5, ", "--bands"},
		{"--rank 40 --ridge 0.5 --bands 0,0.9", "", ""},
		{"--quick", "", ""},
	}
	for _, i := range soak.Some(t, len(cases)) {
		c := cases[i]
		args := append([]string{"train", "--data", events, "--split", split, "--out", path},
			strings.Fields(c.flags)...)
		out := mustRun(t, args...)
		choice := provenance(t, path, train.KeyChoice)
		if !strings.Contains(choice, c.says) || (choice == "") != (c.says == "") {
			t.Errorf("%q: the model says %q, want %q in it", c.flags, choice, c.says)
		}
		check.Has(t, out, strings.TrimPrefix(choice, "rank "), "output of %q", c.flags)
		candidates := provenance(t, path, train.KeyCandidates)
		if (candidates == "") != (choice == "") || c.says != "" && !strings.Contains(candidates, ": 0.") {
			t.Errorf("%q: the candidates are %q", c.flags, candidates)
		}
		// What is not given is not in the command, so that the command chooses it again.
		command := provenance(t, path, "command")
		if c.command != "" && strings.Contains(command, c.command) {
			t.Errorf("%q: the command has %s: %s", c.flags, c.command, command)
		}
		spec, rank := specOf(t, path)
		var got struct {
			Dynamics struct {
				Rank  int
				Ridge float64
				Bands string
			}
		}
		decode(t, mustRun(t, append([]string{"evaluate", "--data", events, "--split", split,
			"--methods", "dynamics", "--json"}, strings.Fields(c.flags)...)...), &got)
		bands := kalman.FormatBands(spec.Dynamics.Bands)
		if got.Dynamics.Rank != rank || got.Dynamics.Ridge != spec.Dynamics.Ridge ||
			got.Dynamics.Bands != bands {
			t.Errorf("%q: evaluate has %+v, train has rank %d, ridge %v and bands %s", c.flags,
				got.Dynamics, rank, spec.Dynamics.Ridge, bands)
		}
	}
	for _, c := range []struct{ flags, want string }{
		{"--preset paper", "--quick: has no effect without learned dynamics"},
		{"--like " + path, "--quick: has no effect with --like"},
	} {
		refused(t, cli.ExitUsage, c.want, append([]string{"train", "--data", events, "--out", path,
			"--quick"}, strings.Fields(c.flags)...)...)
	}
}
