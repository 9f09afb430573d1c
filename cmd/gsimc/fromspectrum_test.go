package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/file/safetensors"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/learn/train"
	"github.com/gsimc/gsimc/learn/train/spectrumtest"
)

// smallSpectrum writes the spectrum of the training users of [smallModel], and a sample that has
// the events of its validation users. It returns the events as well.
func smallSpectrum(t *testing.T) (spectrum, sample, events string) {
	t.Helper()
	events, _ = smallModel(t)
	dir := t.TempDir()
	spectrum, sample = filepath.Join(dir, "spectrum.safetensors"), filepath.Join(dir, "sample.csv")
	d, _, err := dataset.Read([]string{events}, dataset.Options{})
	check.Must(t, err)
	split := train.Split(d.NumUsers(), 1)
	var held []int32
	for u, role := range split {
		if role == dataset.Validation {
			held = append(held, int32(u))
		}
	}
	writeCSV(t, sample, d.Only(held))
	p := check.Get(d.Partition(split))(t)
	file, err := spectrumtest.New(p, train.Config{Spec: train.Recommended(), Rank: 16, Seed: 1})
	check.Must(t, err)
	data := check.Get(file.Sealed())(t)
	write(t, spectrum, string(data))
	return spectrum, sample, events
}

func writeCSV(t *testing.T, path string, d *dataset.Interactions) {
	t.Helper()
	text := []byte("user_id,item_id,timestamp\n")
	for u, user := range d.Users {
		for at := d.Ptr[u]; at < d.Ptr[u+1]; at++ {
			text = fmt.Appendf(text, "%s,%s,%d\n", user, d.Items[d.Item[at]], d.Time[at])
		}
	}
	write(t, path, string(text))
}

// arrayOf returns the bytes of an array in a model file.
func arrayOf(t *testing.T, path, name string) string {
	t.Helper()
	f := check.Get(safetensors.Parse([]byte(mustRead(t, path))))(t)
	info, found := f.Arrays[name]
	if !found {
		t.Fatalf("%s has no %s", path, name)
	}
	return string(f.Body[info.Offsets[0]:info.Offsets[1]])
}

// TestTrainFromSpectrum: the command makes the model that it makes of the events, and says where
// the model came from.
func TestTrainFromSpectrum(t *testing.T) {
	spectrum, sample, events := smallSpectrum(t)
	dir := t.TempDir()
	want, got := filepath.Join(dir, "want.gsimc"), filepath.Join(dir, "got.gsimc")
	mustRun(t, "train", "--data", events, "--rank", "16", "--out", want)
	printed := mustRun(t, "train", "--from-spectrum", spectrum, "--data", sample, "--rank", "16",
		"--out", got)
	says(t, "the summary", printed, "270 training, 30 validation", "HR@10")
	for _, name := range []string{"basis", "readout", "p0", "sigma_theta"} {
		if a, b := arrayOf(t, want, name), arrayOf(t, got, name); a != b {
			t.Errorf("%s differs", name)
		}
	}
	if c := provenance(t, got, "command"); c != "gsimc train --from-spectrum "+
		"spectrum.safetensors --data sample.csv --rank 16" {
		t.Errorf("the command is %q", c)
	}
	check.Same(t, "a test", provenance(t, got, train.KeySpectrum), "the program")
	var summary train.Summary
	decode(t, mustRun(t, "train", "--from-spectrum", spectrum, "--data", sample, "--out", got,
		"--json"), &summary)
	if summary.Users != 270 || summary.Rank != 16 {
		t.Errorf("summary %+v", summary)
	}
}

// TestTrainFromSpectrumRefusals: bad files and flags are refused with the name of their flag, and
// nothing is written.
func TestTrainFromSpectrumRefusals(t *testing.T) {
	spectrum, sample, events := smallSpectrum(t)
	data := mustRead(t, spectrum)
	cut := writeFile(t, "cut.safetensors", data[:len(data)-9])
	strangers := writeFile(t, "strangers.csv", "user_id,item_id,timestamp\na,b,1\na,c,2\n")
	out := filepath.Join(t.TempDir(), "out.gsimc")
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"--from-spectrum " + cut + " --data " + sample, cli.ExitFailure,
			"--from-spectrum: " + cut + ": the file has"},
		{"--from-spectrum " + events + " --data " + sample, cli.ExitFailure,
			"give the file spectrum.safetensors that the job wrote"},
		{"--from-spectrum nowhere --data " + sample, cli.ExitFailure, "--from-spectrum: nowhere"},
		{"--from-spectrum " + spectrum, cli.ExitUsage, "missing flags: --data=FILE"},
		{"--from-spectrum " + spectrum + " --data " + strangers, cli.ExitFailure,
			"--data: no user of 1 has two of the 120 items of the spectrum"},
		{"--from-spectrum " + spectrum + " --rank 17 --data " + sample, cli.ExitFailure,
			"--rank: 17, want 1 to 16, the rank of the spectrum"},
	} {
		refused(t, c.code, c.want, append([]string{"train", "--out", out},
			strings.Fields(c.args)...)...)
	}
	for _, flag := range []string{"--window=5", "--bands=0", "--preset=paper", "--split=x",
		"--like=x"} {
		name, _, _ := strings.Cut(flag, "=")
		refused(t, cli.ExitUsage, name+": has no effect with --from-spectrum", "train", "--out",
			out, "--from-spectrum", spectrum, "--data", sample, flag)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a model was written: %v", err)
	}
}
