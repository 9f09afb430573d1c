package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestText(t *testing.T) {
	flags := map[string]string{"Rank": "--rank", "MinItemEvents": "--min-item-events",
		"Listen": "--listen"}
	flag := func(field string) string {
		if f, ok := flags[field]; ok {
			return f
		}
		return field
	}
	rank := &fault.Fault{Field: "Rank", Got: 30, Problem: "is above the number of items 20",
		Want:   "at most 20",
		Advice: []fault.Change{{Verb: "lower", Field: "MinItemEvents"}}}
	listen := fault.New("Listen", "x", "HOST:PORT")
	for _, c := range []struct {
		name      string
		err       error
		own, flag string
	}{
		{"one", listen, "Listen: x, want HOST:PORT", "--listen: x, want HOST:PORT"},
		{"nothing given", fault.New("Listen", nil, "HOST:PORT"), "Listen: want HOST:PORT",
			"--listen: want HOST:PORT"},
		{"all parts", rank, "Rank: 30 is above the number of items 20, want at most 20: lower " +
			"MinItemEvents",
			"--rank: 30 is above the number of items 20, want at most 20: lower --min-item-events"},
		{"three ways out", &fault.Fault{Field: "Rank", Problem: "no",
			Advice: []fault.Change{{"raise", "A", ""}, {"set", "B", "5"}, {"lower", "Rank", ""}}},
			"Rank: no: raise A, set B 5 or lower Rank",
			"--rank: no: raise A, set B 5 or lower --rank"},
		{"joined", errors.Join(rank, listen), rank.Error() + "\n" + listen.Error(),
			"--rank: 30 is above the number of items 20, want at most 20: lower " +
				"--min-item-events\n--listen: x, want HOST:PORT"},
		{"placed", fault.In("train", fault.In("a.csv", listen)),
			"train: a.csv: Listen: x, want HOST:PORT", "train: a.csv: --listen: x, want HOST:PORT"},
		{"cause", &fault.Fault{Field: "Listen", Err: fs.ErrPermission}, "Listen: permission denied",
			"--listen: permission denied"},
		{"foreign wrapping", fmt.Errorf("x: %w", listen), "x: Listen: x, want HOST:PORT",
			"x: Listen: x, want HOST:PORT"},
		{"no fault", fs.ErrExist, "file already exists", "file already exists"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check.Same(t, c.own, c.err.Error(), "Error()")
			check.Same(t, c.flag, fault.Text(c.err, flag), "Text()")
		})
	}
}

func TestChain(t *testing.T) {
	cause := errors.New("cause")
	err := fault.In("here", errors.Join(fault.In("there", &fault.Fault{Field: "A", Err: cause}),
		fault.New("B", 1, "2")))
	var f *fault.Fault
	if !errors.As(err, &f) || f.Field != "A" {
		t.Errorf("errors.As found %v, want the fault of A", f)
	}
	check.Fails(t, err, cause, "cause")
	check.Same(t, []string{"A", "B"}, fault.Fields(err), "fields")
	check.Pass(t, fault.In("x", nil), "In of nil")
}

func TestErrorsAboutPaths(t *testing.T) {
	err := fmt.Errorf("read: %w", &fs.PathError{Op: "open", Path: "a.csv", Err: fs.ErrNotExist})
	check.Same(t, "a.csv: file does not exist", fault.PathError(err).Error(), "PathError")
	check.Same(t, fs.ErrNotExist.Error(), fault.Cause(err).Error(), "Cause")
	for _, same := range []error{nil, fs.ErrExist} {
		if fault.PathError(same) != same || fault.Cause(same) != same {
			t.Errorf("%v has changed", same)
		}
	}
}
