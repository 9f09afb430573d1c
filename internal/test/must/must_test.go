package must

import (
	"errors"
	"io"
	"testing"
)

// recorder is a test that fails.
type recorder struct {
	testing.TB
	errs, ends int
}

func (*recorder) Helper()                     {}
func (r *recorder) Errorf(string, ...any)     { r.errs++ }
func (r *recorder) Fatal(...any)              { r.ends++ }
func (r *recorder) Fatalf(_ string, _ ...any) { r.ends++ }

func call(err error) func() error { return func() error { return err } }

// Each of these fails if it has to, and only then.
func TestAllCanFail(t *testing.T) {
	fault := errors.New("a fault")
	for what, c := range map[string]struct {
		bad, good  func(tb testing.TB)
		errs, ends int
	}{
		"Succeed": {func(tb testing.TB) { Succeed(tb, fault) },
			func(tb testing.TB) { Succeed(tb, nil) }, 0, 1},
		"Get": {func(tb testing.TB) { Get(1, fault)(tb) },
			func(tb testing.TB) { Get(1, nil)(tb) }, 0, 1},
		"Equal": {func(tb testing.TB) { Equal(tb, 1, 2, "x") },
			func(tb testing.TB) { Equal(tb, 1, 1, "x") }, 1, 0},
		"Fail": {func(tb testing.TB) { Fail(tb, io.EOF, fault, "x"); Fail(tb, nil, fault, "x") },
			func(tb testing.TB) { Fail(tb, errors.Join(io.EOF, fault), fault, "x") }, 2, 0},
		"Say": {func(tb testing.TB) { Say(tb, fault, "b f", "x"); Say(tb, nil, "nil", "x") },
			func(tb testing.TB) { Say(tb, fault, "a f", "x") }, 2, 0},
		"Pass": {func(tb testing.TB) { Pass(tb, fault, "x") },
			func(tb testing.TB) { Pass(tb, nil, "x") }, 1, 0},
		"Return": {func(tb testing.TB) { Succeed(tb, Return(tb, "x", call(fault))) },
			func(tb testing.TB) { Succeed(tb, Return(tb, "x", call(nil))) }, 0, 1},
	} {
		bad, good := &recorder{}, &recorder{}
		c.bad(bad)
		c.good(good)
		if bad.errs != c.errs || bad.ends != c.ends || good.errs+good.ends > 0 {
			t.Errorf("%s: %+v where it has to fail, %+v where not", what, bad, good)
		}
	}
}
