package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/gsimc/gsimc/server/internal/doors"
)

// account is a line of the log about one call of an operator, or about a user: who made it, and how
// it ended. It holds no ids. Calls that the doors or the gate refuse share lines, see [failureLog]:
// everybody can make them, in any number. Of other calls there is none (nil).
type account struct {
	log            *slog.Logger
	method, caller string
	began          time.Time
}

// account opens the account of a call. The name of a token is looked up now, since the token may be
// removed meanwhile.
func (s *Server) account(ctx context.Context, method string) *account {
	if !doors.Audited(method) || s.refused(ctx) != nil {
		return nil
	}
	return &account{log: s.log, method: method, caller: s.doors.Caller(ctx), began: time.Now()}
}

// settle writes the line.
func (a *account) settle(ctx context.Context, err error) {
	if a == nil {
		return
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "audit", slog.String("grpc.method", a.method),
		slog.String("caller", a.caller), slog.String("grpc.code", toStatus(err).Code().String()),
		durationMS(time.Since(a.began)))
}
