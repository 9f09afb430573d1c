package httpjson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/admission"
)

// bodies reads the body of a request before its call, by the rules of the gate that calls pass: see
// [admission.Gate.Receive]. Decoding has a bound of its own, about in bytes, one for small bodies
// and one for the others.
type bodies struct {
	limits       Limits
	methods      routes
	small, large *admission.Budget
	slots        *admission.Budget // of calls with large answers
	spare        [64]sync.Pool     // buffers that bodies have left, by the logarithm of their size
}

const (
	// largeSlots is the number of calls with large answers from their bodies until their answers
	// are text. Each is work for a processor, and takes up to a hundred MB with its garbage.
	largeSlots = 2

	// maxValues is the number of values of a body: members and elements, inner ones included. The
	// largest call that a method takes has less than half of them.
	maxValues = 250_000
	// Of a decoded body: bytes for each of its own, and for each of its values.
	bytesOfByte, bytesOfValue = 3, 300
)

func newBodies(methods routes, l Limits) *bodies {
	return &bodies{limits: l, methods: methods, small: admission.NewBudget(l.Decoded),
		large: admission.NewBudget(l.Decoded), slots: admission.NewBudget(largeSlots)}
}

// largeAnswers are the methods whose answers may have many thousands of items.
var largeAnswers = []string{pb.RecommenderService_BatchRecommend_FullMethodName,
	pb.ItemService_ListItems_FullMethodName}

// receive is the middleware. What it takes is given back when the body is decoded, and the slot
// when the answer is text.
func (b *bodies) receive(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, ids map[string]string) {
		rpc := b.methods.of(r).rpc
		large := slices.Contains(largeAnswers, rpc)
		if !hasBody(r) && !large {
			next(w, r, ids)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), b.limits.BodyTime)
		defer cancel()
		received, err := b.enter(ctx, w, r, rpc)
		if err != nil {
			refuse(w, err)
			return
		}
		defer received.decoded()
		if hasBody(r) {
			r.Body = received
		} else {
			received.decoded()
		}
		next(w, r, ids)
	}
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// body is the body of a request that has come.
type body struct {
	bytes.Reader
	text    []byte // all of it
	decoded func() // gives back what it took; further calls do nothing
}

// Close implements [io.Closer].
func (*body) Close() error { return nil }

// enter receives a request with its body, if it has one, and takes room for what that is decoded to
// and for its answer. The error is one that [refuse] knows.
func (b *bodies) enter(
	ctx context.Context, w http.ResponseWriter, r *http.Request, rpc string,
) (*body, error) {
	if err := b.refusal(r); err != nil {
		return nil, err
	}
	ticket, err := b.limits.Gate.Receive(ctx, rpc)
	if err != nil {
		return nil, err
	}
	received, give := &body{}, func() {}
	var text []byte
	if hasBody(r) {
		text, err = b.whole(w, r, ticket)
	}
	if err == nil && slices.Contains(largeAnswers, rpc) {
		err = b.slot(ticket, w)
	}
	if err == nil {
		give, err = b.decoding(ticket, text)
	}
	if err != nil {
		b.free(text)
		ticket.Forget()
		return nil, err
	}
	received.Reset(text)
	received.text = text
	received.decoded = sync.OnceFunc(func() {
		received.Reset(nil)
		received.text = nil
		b.free(text)
		give()
		ticket.Forget()
	})
	return received, nil
}

// compressions are the forms of a body that gRPC inflates, and this side does not.
var compressions = []string{"gzip", "x-gzip", "deflate", "compress", "br", "zstd"}

// refusal returns what can be told before the body.
func (b *bodies) refusal(r *http.Request) error {
	switch {
	case hasBody(r) && r.Method != http.MethodPost:
		return &refusal{http.StatusBadRequest, codes.InvalidArgument, "INVALID_ARGUMENT",
			"a body goes with a POST only"}
	case hasBody(r) && slices.Contains(compressions,
		strings.ToLower(r.Header.Get("Content-Encoding"))):
		return &refusal{http.StatusUnsupportedMediaType, codes.InvalidArgument, "INVALID_ARGUMENT",
			"the body is compressed: send it as it is, without Content-Encoding"}
	case r.ContentLength > int64(b.limits.Body):
		return b.tooLarge()
	}
	return b.limits.Known(r.Header.Values("Authorization"))
}

func (b *bodies) tooLarge() error {
	return &refusal{http.StatusRequestEntityTooLarge, codes.ResourceExhausted, "BODY_TOO_LARGE",
		fmt.Sprintf("the body has more than %d bytes", b.limits.Body)}
}

// slot waits for a slot. The answer gives it back.
func (b *bodies) slot(t *admission.Ticket, w http.ResponseWriter) error {
	if b.slots.Take(t, 1) != nil {
		return t.Crowded()
	}
	w.(*answerWriter).made = func() { b.slots.Give(1) }
	return nil
}

// decoding waits for room for what a body is decoded to.
func (b *bodies) decoding(t *admission.Ticket, text []byte) (give func(), err error) {
	values := values(text)
	if values > maxValues {
		return nil, &refusal{http.StatusBadRequest, codes.InvalidArgument, "INVALID_ARGUMENT",
			fmt.Sprintf("the body has more than %d values", maxValues)}
	}
	room, size := b.large, bytesOfByte*len(text)+bytesOfValue*values
	if len(text) <= admission.SmallBody {
		room = b.small
	}
	if room.Take(t, size) != nil {
		return nil, t.Crowded()
	}
	return func() { room.Give(size) }, nil
}

// whole returns a body that comes within the time of its ticket.
func (b *bodies) whole(
	w http.ResponseWriter, r *http.Request, t *admission.Ticket,
) ([]byte, error) {
	control := http.NewResponseController(w)
	// An error is that of a connection without deadlines, which a listener does not have.
	stop := context.AfterFunc(t, func() { _ = control.SetReadDeadline(past) })
	text, err := b.read(r, t)
	if !stop() && err == nil { // its room was taken when it had just come
		err = t.Crowded()
	}
	// What follows a body in chunks may be the end of another, to a proxy that goes by a
	// Content-Length beside (RFC 9112, section 6.3): nothing is read there.
	if err == nil && len(r.TransferEncoding) == 0 {
		w.Header().Del("Connection")
	}
	return text, err
}

// grown is the next size of what a body is read into: quickly while that is little.
func grown(size int) int {
	if size < 1<<20 {
		return 4 * size
	}
	return 2 * size
}

// buffer returns an empty buffer with room for size bytes. If an earlier body has left one, it is
// used again: otherwise the garbage would be half of the memory, and most of it large bodies.
func (b *bodies) buffer(size int) []byte {
	class := bits.Len(uint(size - 1))
	if 1<<class > b.limits.Body {
		return make([]byte, 0, size)
	}
	if left, ok := b.spare[class].Get().(*[]byte); ok {
		return (*left)[:0]
	}
	return make([]byte, 0, 1<<class)
}

// free takes a buffer back, which nobody may use any more.
func (b *bodies) free(buffer []byte) {
	if class := bits.Len(uint(cap(buffer))) - 1; class >= 0 && cap(buffer) == 1<<class {
		b.spare[class].Put(&buffer)
	}
}

// read reads a body up to its end. With an error the text is what there is of it.
func (b *bodies) read(r *http.Request, t *admission.Ticket) (text []byte, err error) {
	most := b.limits.Body + 1
	if r.ContentLength >= 0 {
		most = int(min(r.ContentLength, int64(most)))
	}
	const first = 4 << 10
	for size := min(first, most); ; size = min(grown(size), most) {
		longer := b.buffer(size)
		if err := t.Grow(cap(longer) - cap(text)); err != nil {
			b.free(longer)
			return text, err
		}
		longer = append(longer, text...)
		b.free(text)
		text = longer
		n, err := io.ReadFull(r.Body, text[len(text):size])
		text = text[:len(text)+n]
		switch {
		case len(text) > b.limits.Body:
			return text, b.tooLarge()
		case int64(len(text)) == r.ContentLength, ended(err) && r.ContentLength < 0:
			return text, nil
		case err == nil:
		case t.Evicted():
			return text, t.Crowded()
		default:
			return text, &refusal{http.StatusRequestTimeout, codes.InvalidArgument,
				"BODY_INCOMPLETE", "the body did not come whole in time"}
		}
	}
}

// ended reports whether a reader had fewer bytes than were wanted.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// values is the number of values of a JSON document, about: of its separators and of the beginnings
// of lists and objects, outside of texts.
func values(text []byte) (n int) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ',', '{', '[':
			n++
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}
