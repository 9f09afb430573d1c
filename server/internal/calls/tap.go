package calls

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/outcome"
)

// Tap sees the headers of a call before anything of it is read.
func (c *Chain) Tap(
	ctx context.Context, gate *admission.Gate, method string,
) (context.Context, error) {
	entered, err := c.Doors.Enter(ctx, method)
	if err == nil {
		err = c.Doors.CheckUser(entered, table[method].self, "")
	}
	if err == nil {
		return c.admit(entered, gate, method)
	}
	if audited(method) {
		c.refusals.add(method, outcome.Status(err).Code(), cause(err))
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) > admission.RefusedAtOnce {
		return context.WithValue(gate.AdmitStranger(ctx), refusedKey{}, err), nil
	}
	return ctx, outcome.Status(err).Err()
}

// refusedKey is the key of the error of a call that the interceptors have to refuse.
type refusedKey struct{}

// refused returns the error of a call that the tap let through to be refused here.
func (c *Chain) refused(ctx context.Context) error {
	if !c.Doors.Guarded() {
		return nil
	}
	err, _ := ctx.Value(refusedKey{}).(error)
	return err
}

// admit is the part of the tap that asks the gate. A call that it refuses reaches no interceptor,
// so its account is here.
func (c *Chain) admit(
	ctx context.Context, gate *admission.Gate, method string,
) (context.Context, error) {
	ctx, err := gate.Admit(ctx, method)
	if err == nil {
		return ctx, nil
	}
	st := outcome.Status(err)
	if audited(method) {
		c.refusals.add(method, st.Code(), cause(err))
	}
	return ctx, st.Err()
}

// checkUser returns an error if the token of a call is bound to a user, and the message is about
// another.
func (c *Chain) checkUser(ctx context.Context, method string, message any) error {
	if !c.Doors.Guarded() || doors.OnlyUser(ctx) == "" {
		return nil
	}
	return c.Doors.CheckUser(ctx, table[method].self, userOf(method, message))
}

// pushback tells clients that repeat calls by themselves when they may.
func pushback(ctx context.Context, err error) {
	if errors.As(err, new(*admission.RefusedError)) {
		// It fails for calls that are not of a server only.
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms",
			strconv.FormatInt(outcome.RetryOverload.Milliseconds(), 10)))
	}
}
