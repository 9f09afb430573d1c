package httpjson

import (
	"context"
	"net/http"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/gsimc/gsimc/server/internal/admission"
)

// answerWriter tells the connection of a request what it owes: see [admission.Answer]. So answers
// that are not read are bounded as those of gRPC are.
type answerWriter struct {
	http.ResponseWriter
	answer *admission.Answer
	made   func() // gives back the room of a large answer that is text now
	queued bool
	begun  bool // something is written
	gone   bool // the client does not read any more, or has all there is
}

// answerKey is the key of the [answerWriter] in the context of its call.
type answerKey struct{}

const (
	// memoryOfByte is about the number of bytes that a message and its text take together for each
	// byte of the message as gRPC sends it.
	memoryOfByte = 6
	// part is the number of bytes that are written at a time: a client that reads them goes on.
	part = 64 << 10
	// maxOwed is the most that an answer counts: one has room beside others.
	maxOwed = 16 << 20
	// lastTime is the time for the rest of an answer, which net/http writes after the handler.
	lastTime = 30 * time.Second
)

// owe is called with a message that is about to become an answer, or a part of one.
func owe(_ context.Context, w http.ResponseWriter, message proto.Message) error {
	if a, ok := w.(*answerWriter); ok && message != nil {
		a.owes(min(memoryOfByte*proto.Size(message), maxOwed))
	}
	return nil
}

func (w *answerWriter) owes(bytes int) {
	switch {
	case w.answer == nil: // the connection is none of a listener with bounds
	case w.queued:
		w.answer.Left(bytes)
	default:
		w.queued = true
		w.answer.Queued(bytes)
	}
}

// WriteHeader implements [http.ResponseWriter]. The library would challenge the client with the
// text of the error.
func (w *answerWriter) WriteHeader(code int) {
	if w.gone {
		return
	}
	w.begun = true
	if code == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements [io.Writer]. If the client has gone, so that the context of its call ends, the
// library would log that as a fault of the server: here it gets no error.
func (w *answerWriter) Write(text []byte) (int, error) {
	w.text()
	w.begun = true
	for rest := text; !w.gone && len(rest) > 0; {
		w.owes(len(rest))
		n, err := w.ResponseWriter.Write(rest[:min(part, len(rest))])
		rest, w.gone = rest[n:], err != nil
	}
	w.owes(0)
	return len(text), nil
}

// FlushError is for [http.ResponseController], and has no error as Write has none.
func (w *answerWriter) FlushError() error {
	w.gone = http.NewResponseController(w.ResponseWriter).Flush() != nil || w.gone
	w.paid() // an export may wait for the store before it goes on
	return nil
}

// text is called when the message is text, or there is none.
func (w *answerWriter) text() {
	if w.made != nil {
		w.made()
		w.made = nil
	}
}

// end is called when nothing more is written.
func (w *answerWriter) end() {
	w.text()
	// An error is that of a connection without deadlines, which a listener does not have.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(lastTime))
	w.paid()
}

// paid is called when what was queued is written.
func (w *answerWriter) paid() {
	if w.queued {
		w.answer.Gone()
		w.queued = false
	}
}

// Unwrap is for [http.ResponseController].
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
