package calls

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/stage"
)

// account is a line of the log about one call of an operator, about a user, or that changes the
// catalogue: who made it, and how it ended. It holds no ids. Calls that the doors or the gate
// refuse, by their headers or later, share lines, see [failureLog]: everybody can make them, in any
// number. Of other calls there is none (nil).
type account struct {
	log            *slog.Logger
	refusals       *failureLog
	method, caller string
	began          time.Time
}

// account opens the account of a call. The name of a token is looked up now, since the token may be
// removed meanwhile.
func (c *Chain) account(ctx context.Context, method string) *account {
	if !audited(method) || c.refused(ctx) != nil {
		return nil
	}
	return &account{log: c.Log, refusals: c.refusals, method: method, caller: c.Caller(ctx),
		began: time.Now()}
}

// Caller names who makes a call, for people: the name of the token's line or in the certificate,
// and of a signed token also the keyed hash of its subject, who may be a user.
func (c *Chain) Caller(ctx context.Context) string {
	name, subject := c.Doors.Caller(ctx)
	if subject == "" {
		return name
	}
	return name + "/" + c.Users.Hash(subject).LogValue().String()
}

// settle writes the line. The error is that of the handler, or of the gate.
func (a *account) settle(ctx context.Context, err error) {
	if a == nil {
		return
	}
	code := outcome.Status(err).Code()
	if errors.As(err, new(*admission.RefusedError)) {
		a.refusals.add(a.method, code, cause(err))
		return
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", WithIDs(ctx, []slog.Attr{
		slog.String("grpc.method", a.method),
		slog.String("caller", a.caller), slog.String("grpc.code", code.String()),
		stage.Duration(time.Since(a.began))})...)
}
