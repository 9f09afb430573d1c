package httpjson

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/gsimc/gsimc/server/internal/outcome"
	"github.com/gsimc/gsimc/server/internal/valid"
)

// A refusal is the error of a request that reaches no method.
type refusal struct {
	http            int
	code            codes.Code
	reason, message string
}

// status is the refusal as methods tell errors.
func (r *refusal) status() *status.Status { return outcome.New(r.code, r.reason, r.message, 0) }

// Error is the message.
func (r *refusal) Error() string { return r.message }

// refuse answers a request that reaches no method. The error is a [refusal], or an error that
// package outcome knows.
func refuse(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		writeStatus(w, r.http, r.status())
		return
	}
	st := outcome.Status(err)
	writeStatus(w, runtime.HTTPStatusFromCode(st.Code()), st)
}

// retryAfter tells when a call may be repeated, in whole seconds.
func retryAfter(w http.ResponseWriter, st *status.Status) {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			wait := info.GetRetryDelay().AsDuration()
			seconds := int64((wait + time.Second - 1) / time.Second)
			w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
		}
	}
}

// RefusePage answers a page that may not call, see package origin.
func RefusePage(w http.ResponseWriter, problem string) {
	private(w.Header())
	no := refusal{code: codes.PermissionDenied, reason: "FOREIGN_PAGE",
		message: problem + "; serve --json-origin makes a page known"}
	writeStatus(w, http.StatusForbidden, no.status())
}

// writeStatus answers with a status.
func writeStatus(w http.ResponseWriter, httpStatus int, st *status.Status) {
	text, err := protojson.Marshal(st.Proto())
	if err != nil { // only for a text that is not UTF-8, and there is none
		http.Error(w, st.Message(), http.StatusInternalServerError)
		return
	}
	retryAfter(w, st)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(httpStatus)
	_, _ = w.Write(text) // an error means that the client has gone
}

// A fault is a field of a body that is wrong. The library keeps of an error nothing but the text,
// so the text has both parts, with [faultMark] between.
type fault struct{ field, text string }

const faultMark = "\x00"

// Error implements error.
func (f *fault) Error() string { return f.field + faultMark + f.text }

// ownError gives an error of a body, which the library has made a status without details, the form
// of the errors of methods.
func ownError(st *status.Status) error {
	text := strings.ToValidUTF8(st.Message(), "?")
	if field, text, ok := strings.Cut(text, faultMark); ok {
		return outcome.Status(valid.Bad(field, text)).Err()
	}
	own := refusal{code: st.Code(), message: text, reason: code.Code(st.Code()).String()}
	return own.status().Err()
}

// streamError answers an error before the first line of a stream as that of any other call. The
// library would write it as a line. It writes the line of an error that comes later.
func streamError(ctx context.Context, err error) *status.Status {
	st := status.Convert(err)
	if len(st.Details()) == 0 {
		st = status.Convert(ownError(st))
	}
	if w, ok := ctx.Value(answerKey{}).(*answerWriter); ok && !w.begun {
		writeStatus(w, runtime.HTTPStatusFromCode(st.Code()), st)
		w.gone = true
	}
	return st
}

// writeError answers with the status of an error. A client that may try again is told when.
func writeError(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler,
	w http.ResponseWriter, r *http.Request, err error,
) {
	st := status.Convert(err)
	if len(st.Details()) == 0 {
		err = ownError(st)
	}
	retryAfter(w, st)
	runtime.DefaultHTTPErrorHandler(ctx, mux, m, w, r, err)
}

// refuseMethod answers a request that names no method. If its path has methods of other names, the
// header Allow has these.
func (all routes) refuseMethod(ctx context.Context, mux *runtime.ServeMux, m runtime.Marshaler,
	w http.ResponseWriter, r *http.Request, httpStatus int,
) {
	no := refusal{http: httpStatus, code: codes.Unimplemented, reason: "UNKNOWN_METHOD",
		message: fmt.Sprintf("there is no method under %s of this path: see /openapi.json",
			r.Method)}
	if httpStatus == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", strings.Join(all.methods(r.URL.EscapedPath()), ", "))
	}
	runtime.DefaultHTTPErrorHandler(ctx, mux, m, w, r,
		&runtime.HTTPStatusError{HTTPStatus: httpStatus, Err: no.status().Err()})
}
