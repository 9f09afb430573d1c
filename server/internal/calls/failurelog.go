package calls

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

// FailureInterval is the time in which failed or slow calls of one method and code share a line of
// the log.
const FailureInterval = time.Second

// failureLog logs failed or slow calls, at most one line of a method and code in each interval.
// Those that come meanwhile are counted by the next line, which comes without another call too.
type failureLog struct {
	log     *slog.Logger
	level   slog.Level
	message string
	every   time.Duration

	mu   sync.Mutex
	last map[failureKind]*failures
}

type failureKind struct {
	method string
	code   codes.Code
}

// failures are those of a kind since the last line.
type failures struct {
	untold int
	detail []slog.Attr // of the last
}

// newFailureLog returns a log of calls whose lines have this level and message.
func newFailureLog(
	log *slog.Logger, level slog.Level, message string, every time.Duration,
) *failureLog {
	return &failureLog{log: log, level: level, message: message, every: every,
		last: map[failureKind]*failures{}}
}

// add logs a call with details that hold no ids, or counts it.
func (l *failureLog) add(method string, code codes.Code, detail ...slog.Attr) {
	kind := failureKind{method, code}
	l.mu.Lock()
	f := l.last[kind]
	if f != nil {
		f.untold, f.detail = f.untold+1, detail
		l.mu.Unlock()
		return
	}
	l.last[kind] = &failures{}
	l.mu.Unlock()
	l.line(kind, detail, 0)
	time.AfterFunc(l.every, func() { l.tell(kind) })
}

// cause is the detail of a failed call.
func cause(err error) slog.Attr { return slog.String("error", err.Error()) }

// tell logs how many calls have come since the last line, or ends the counting if none has.
func (l *failureLog) tell(kind failureKind) {
	l.mu.Lock()
	f := *l.last[kind]
	if f.untold == 0 {
		delete(l.last, kind)
	} else {
		l.last[kind] = &failures{}
	}
	l.mu.Unlock()
	if f.untold == 0 {
		return
	}
	l.line(kind, f.detail, f.untold-1)
	time.AfterFunc(l.every, func() { l.tell(kind) })
}

// line logs a call, and the number of others of its kind since the last line.
func (l *failureLog) line(kind failureKind, detail []slog.Attr, others int) {
	attrs := append([]slog.Attr{slog.String("grpc.method", kind.method),
		slog.String("grpc.code", kind.code.String())}, detail...)
	if others > 0 {
		attrs = append(attrs, slog.Int("suppressed", others))
	}
	l.log.LogAttrs(context.Background(), l.level, l.message, attrs...)
}
