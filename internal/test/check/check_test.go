package check_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gsimc/gsimc/internal/test/check"
)

// noted is a test that notes its failures and goes on.
type noted struct {
	testing.TB
	failures []string
}

func (*noted) Helper() {}

func (n *noted) Errorf(format string, args ...any) {
	n.failures = append(n.failures, fmt.Sprintf(format, args...))
}
func (n *noted) Fatalf(format string, args ...any) { n.Errorf(format, args...) }
func (n *noted) Fatal(args ...any)                 { n.Errorf("%s", fmt.Sprint(args...)) }

// Each check fails for what it is to find, and for nothing else.
func TestChecksFail(t *testing.T) {
	err, near := errors.New("the disk is full"), cmpopts.EquateApprox(0, 0.2)
	for i, c := range []struct {
		good bool
		call func(t testing.TB)
	}{
		{true, func(t testing.TB) { check.Must(t, nil) }},
		{false, func(t testing.TB) { check.Must(t, err) }},
		{true, func(t testing.TB) { check.Same(t, []int{1}, []int{1}, "") }},
		{false, func(t testing.TB) { check.Same(t, []int{1}, []int{2}, "%d items", 1) }},
		{true, func(t testing.TB) { check.Same(t, durationpb.New(1), durationpb.New(1), "") }},
		{false, func(t testing.TB) { check.Same(t, durationpb.New(1), durationpb.New(2), "") }},
		{true, func(t testing.TB) { check.SameBy(t, near, 1.0, 1.1, "") }},
		{false, func(t testing.TB) { check.SameBy(t, near, 1.0, 1.3, "%d", 1) }},
		{true, func(t testing.TB) { check.MustSame(t, 1, 1, "") }},
		{false, func(t testing.TB) { check.MustSame(t, 1, int32(1), "") }},
		{true, func(t testing.TB) { check.Get(1, nil)(t) }},
		{false, func(t testing.TB) { check.Get(1, err)(t) }},
		{true, func(t testing.TB) { check.Must(t, check.Err(1, nil)) }},
		{false, func(t testing.TB) { check.Must(t, check.Err(1, err)) }},
		{true, func(t testing.TB) { check.Pass(t, nil, "") }},
		{false, func(t testing.TB) { check.Pass(t, err, "%d", 1) }},
		{true, func(t testing.TB) { check.Fails(t, errors.Join(io.EOF, err), err, "") }},
		{false, func(t testing.TB) { check.Fails(t, io.EOF, err, "%d", 1) }},
		{false, func(t testing.TB) { check.Fails(t, nil, err, "") }},
		{true, func(t testing.TB) { check.Must(t, check.Return(t, "", func() error { return nil })) }},
		{false, func(t testing.TB) { check.Must(t, check.Return(t, "", func() error { return err })) }},
		{true, func(t testing.TB) { check.Await(t, "", func() bool { return true }) }},
		{false, func(t testing.TB) { check.Within(t, 0, "", func() bool { return false }) }},
		{true, func(t testing.TB) { check.Says(t, nil, "", "") }},
		{true, func(t testing.TB) { check.Says(t, err, "full", "") }},
		{false, func(t testing.TB) { check.Says(t, err, "", "") }},
		{false, func(t testing.TB) { check.Says(t, err, "empty", "") }},
		{false, func(t testing.TB) { check.Says(t, nil, "full", "") }},
		{true, func(t testing.TB) { check.Has(t, "the disk", "disk", "") }},
		{false, func(t testing.TB) { check.Has(t, "the disk", "full", "%d", 1) }},
		{true, func(t testing.TB) { check.Lacks(t, "the disk", "full", "") }},
		{false, func(t testing.TB) { check.Lacks(t, "the disk", "disk", "%d", 1) }},
		{true, func(t testing.TB) { check.Panics(t, "the disk", "", func() { panic(err) }) }},
		{true, func(t testing.TB) { check.Panics(t, "", "", func() { panic(err) }) }},
		{false, func(t testing.TB) { check.Panics(t, "disk", "", func() { panic(err) }) }},
		{false, func(t testing.TB) { check.Panics(t, "", "", func() {}) }},
	} {
		n := &noted{}
		if c.call(n); (len(n.failures) == 0) != c.good {
			t.Errorf("check %d fails with %q", i, n.failures)
		}
	}
}
