// Package outcome has the errors of the handlers, and the statuses that clients see in their place.
//
// Handlers return plain Go errors. [Status] alone knows codes, reasons and times to try again, and
// it never shows the text of an error that it does not know. Programs act on the reason, so a
// reason never changes its meaning.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/session"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "gsimc"

// Errors of the handlers, beside those of the store and the context.
var (
	ErrUserNotFound  = errors.New("server: no such user")
	ErrItemNotFound  = errors.New("server: no such item")
	ErrStaleRevision = errors.New("server: store is behind the demanded revision")
	ErrStaleSession  = errors.New("server: store is behind the session token")
	ErrSessionLost   = errors.New("server: the history of the session token is gone")
	// ErrNotSought leaves it open whether an event is a repeat, as if the store were away.
	ErrNotSought     = fmt.Errorf("%w: too many events lie too far ahead", store.ErrUnavailable)
	ErrNoUncertainty = errors.New("server: the model does not know its uncertainty")
	ErrUnknownMethod = errors.New("server: unknown method or service")
	errFailedFull    = errors.New("server: the store failed for lack of space")
	ErrCheckpoints   = errors.New("server: as many checkpoints are open as may be")
	ErrTooLarge      = errors.New("server: the answer is larger than a message may be")
	ErrStreamIdle    = errors.New("server: nothing came on the stream for long")
	ErrNotOnDisk     = errors.New("server: the store keeps nothing on disk")
	// ErrDraining is the error of calls that the drain ends or refuses.
	ErrDraining = errors.New("server: draining")
	ErrExports  = errors.New("server: as many exports are under way as may be")
	// ErrUsersSkipped is the end of a list of users.
	ErrUsersSkipped   = errors.New("server: damaged histories are not in the list")
	ErrCannotTell     = errors.New("server: the store does not know what is in its files")
	ErrErasureWaits   = errors.New("server: as many calls wait for erasures as may")
	ErrErasurePending = errors.New("server: the bytes of an erased user are still in files")
	// ErrNewUsers is the fault of an event whose user is one too many of all.
	ErrNewUsers = errors.New("server: as many users have begun a history as may in a minute")
	// ErrNewUsersOfToken is that of one too many by the tokens of a line.
	ErrNewUsersOfToken = errors.New("server: as many users have begun by a token as may")
	ErrRewrites        = errors.New("server: as many histories are being rewritten as may be")
	ErrHistoryTooLong  = errors.New("server: the history is too long to be rewritten")
	ErrHistoryChanged  = errors.New("server: the history is not the one of the page before")
)

// outcomes maps errors to the statuses that clients see; the first match holds. Every other error
// is INTERNAL. Programs act on the reasons, which never change their meaning. The codes keep the
// contract of outcomes: the error of a write has a definite code (INVALID_ARGUMENT,
// RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ALREADY_EXISTS, DATA_LOSS) only if the write certainly
// was not applied.
var outcomes = []struct {
	err     error
	code    codes.Code
	reason  string
	message string
	retry   time.Duration // hint to the client; 0: none
}{
	{doors.ErrUnauthenticated, codes.Unauthenticated, "UNAUTHENTICATED",
		"this server wants a token that it knows, as metadata or a header authorization: Bearer " +
			"TOKEN", 0},
	{doors.ErrEnded, codes.Unauthenticated, "UNAUTHENTICATED",
		"the time of the token is over; get another from its issuer", 0},
	{doors.ErrNoLine, codes.PermissionDenied, "PERMISSION_DENIED",
		"the issuer of the token is known, and no line of the server's file of tokens has the " +
			"audience and the claims of this one", 0},
	{doors.ErrOtherUser, codes.PermissionDenied, "OTHER_USER",
		"the token may act for one user only, and this call is about another or may be about " +
			"several", 0},
	{doors.ErrKeys, codes.Unavailable, "ISSUER_KEYS",
		"the keys of the token's issuer are being read", time.Second},
	{doors.ErrRateLimit, codes.ResourceExhausted, "RATE_LIMIT",
		"the token has made as many calls as it may in a second", time.Second},
	{ErrUserNotFound, codes.NotFound, "USER_NOT_FOUND", "there is no history under this user_id",
		0},
	{ErrItemNotFound, codes.NotFound, "ITEM_NOT_FOUND",
		"the catalogue does not have this item_id", 0},
	{catalogue.ErrNone, codes.FailedPrecondition, "STORE_WITHOUT_ITEMS",
		"the store of this server keeps no items", 0},
	{filters.ErrNoFile, codes.FailedPrecondition, "NO_FILTERS_FILE",
		"this server has no file of filters: it was started without --filters-file", 0},
	{filters.ErrChanged, codes.Aborted, "FILTERS_CHANGED",
		"the file of filters is another one by now, as somebody else has changed it; list it again",
		0},
	{filters.ErrSlow, codes.DeadlineExceeded, "DEADLINE_EXCEEDED",
		"the disk of the server's file of filters has not answered in time, in this call or one " +
			"before it; list the filters again to see what the file has", 0},
	{catalogue.ErrFull, codes.ResourceExhausted, "TOO_MANY_ITEMS",
		"the catalogue has as many items as this server takes; delete some, or raise --max-items",
		0},
	{catalogue.ErrColumns, codes.ResourceExhausted, "TOO_MANY_NUMBERS",
		"numbers of items have as many names in this catalogue as may be; use one of them, or " +
			"remove the numbers of a name first", 0},
	{catalogue.ErrDamaged, codes.DataLoss, "STORE_CORRUPT",
		"the stored item is damaged, and not shown; write it with an update_mask of all fields, " +
			"or delete it", 0},
	{ErrStaleRevision, codes.Unavailable, "STALE_REVISION",
		"the store has not reached min_user_revision yet", 50 * time.Millisecond},
	{ErrStaleSession, codes.Unavailable, "STALE_SESSION",
		"the store has not reached the history that session_token names", 50 * time.Millisecond},
	{ErrSessionLost, codes.DataLoss, "SESSION_LOST",
		"the history that session_token names is gone, because the user was erased, events were " +
			"retracted or merged, or the store lost events; ask without the token", 0},
	{session.ErrOtherStore, codes.FailedPrecondition, "OTHER_STORE",
		"the token is of a server with another store; ask without it", 0},
	{ErrHistoryChanged, codes.FailedPrecondition, "HISTORY_CHANGED",
		"the user's history is another one by now, because the user was erased or events were " +
			"retracted or merged; begin again", 0},
	{ErrHistoryTooLong, codes.FailedPrecondition, "HISTORY_TOO_LONG",
		"the history is too long for its events to be retracted or merged; erase the user", 0},
	{ErrRewrites, codes.ResourceExhausted, "OVERLOADED",
		"as many histories are being rewritten as may be; nothing was done", time.Second},
	{ErrExports, codes.ResourceExhausted, "OVERLOADED",
		"as many exports are under way as may be, or this one was read too slowly",
		5 * time.Second},
	{ErrUsersSkipped, codes.DataLoss, "STORE_CORRUPT",
		"the list lacks users whose stored histories are damaged", 0},
	{ErrNoUncertainty, codes.FailedPrecondition, "NO_UNCERTAINTY",
		"exploration needs a model that knows its uncertainty: one with learned dynamics and " +
			"deviation", 0},
	{ErrUnknownMethod, codes.Unimplemented, "UNKNOWN_METHOD",
		"this server has no such method or service: the client may be newer than the server", 0},
	{ErrDraining, codes.Unavailable, "DRAINING",
		"the server is shutting down; connect to another one", 100 * time.Millisecond},
	{models.ErrClosed, codes.Unavailable, "DRAINING",
		"the server is shutting down; connect to another one", 100 * time.Millisecond},
	{ErrNotSought, codes.Unavailable, "STORE_UNAVAILABLE",
		"event_time is more than 24 hours in the future, as in many events of this call, and " +
			"whether this one was taken before was not looked up", time.Second},
	// Before the errors of contexts: a deadline may have passed because the store was away.
	{store.ErrUnavailable, codes.Unavailable, "STORE_UNAVAILABLE",
		"the store cannot be reached at present", time.Second},
	{context.Canceled, codes.Canceled, "CANCELLED", "the call was cancelled", 0},
	{context.DeadlineExceeded, codes.DeadlineExceeded, "DEADLINE_EXCEEDED",
		"the deadline of the call passed", 0},
	{store.ErrConflict, codes.AlreadyExists, "EVENT_ID_CONFLICT",
		"event_id is in use for another event of this user", 0},
	{errFailedFull, codes.ResourceExhausted, "STORE_FAILED",
		"the disk of the store ran full: it takes no writes until there is space and the server " +
			"is restarted", time.Minute},
	{store.ErrInvalid, codes.InvalidArgument, "INVALID_FIELD", "the store refuses the event", 0},
	{store.ErrFull, codes.ResourceExhausted, "STORE_FULL", "the disk of the store is full",
		5 * time.Second},
	{store.ErrCorrupt, codes.DataLoss, "STORE_CORRUPT",
		"the stored history of this user is damaged", 0},
	{store.ErrClosed, codes.Unavailable, "STORE_CLOSED", "the store is closed", time.Second},
	{ErrTooLarge, codes.ResourceExhausted, "ANSWER_TOO_LARGE",
		"the answer has no room for this list; ask for it in another call", 0},
	{ErrCheckpoints, codes.ResourceExhausted, "TOO_MANY_CHECKPOINTS",
		"as many checkpoints are open as may be; end one of their calls", time.Minute},
	{ErrNewUsers, codes.ResourceExhausted, "TOO_MANY_NEW_USERS",
		"as many users have begun a history in this minute as --max-new-users lets; users with a " +
			"history are served", 10 * time.Second},
	{ErrNewUsersOfToken, codes.ResourceExhausted, "TOO_MANY_NEW_USERS",
		"as many users have begun a history in this minute by the token as its new-users=N lets; " +
			"users with a history are served", 10 * time.Second},
	{ErrStreamIdle, codes.Unavailable, "STREAM_IDLE",
		"nothing came on the stream for long, or others needed its room; open another when there " +
			"are events",
		100 * time.Millisecond},
	{ErrCannotTell, codes.FailedPrecondition, "STORE_CANNOT_TELL",
		"the store of this server does not know what is in its files: nothing was erased; ask " +
			"without wait_for_erasure", 0},
	{ErrErasureWaits, codes.ResourceExhausted, "OVERLOADED",
		"as many calls wait for erasures as may: nothing was erased", 5 * time.Second},
	{ErrErasurePending, codes.DeadlineExceeded, "ERASURE_PENDING",
		"the user is erased, and the bytes are still in files of the store; repeat the call with " +
			"allow_missing to wait on", time.Second},
	{ErrNotOnDisk, codes.FailedPrecondition, "STORE_NOT_ON_DISK",
		"the store of this server keeps nothing on disk", 0},
	{store.ErrFailed, codes.Unavailable, "STORE_FAILED",
		"the store takes no writes until the server is restarted", 5 * time.Second},
}

// RetryOverload is the time after which a refused client may try again.
const RetryOverload = 250 * time.Millisecond

// statusOverloaded is the status of every call that the server has no room for. It is made once, as
// a refusal has to cost little.
var statusOverloaded = New(codes.ResourceExhausted, "OVERLOADED",
	"the server has as many calls as it can answer in time; nothing of this one was done",
	RetryOverload)

// Status maps every error to the status that leaves the process. It never shows the text of an
// error that it does not know. A nil error has no status and gives nil.
func Status(err error) *status.Status {
	if err == nil {
		return nil
	}
	if m, ok := errors.AsType[*wire.MalformedError](err); ok {
		err = valid.Bad(m.Field, m.Problem)
	}
	if invalid, ok := errors.AsType[*valid.Error](err); ok {
		reason := "INVALID_FIELD"
		if invalid.Faults[0].Field == valid.FieldSequence {
			reason = "SEQUENCE_OUT_OF_ORDER"
		}
		return badFields(reason, invalid)
	}
	if rejected, ok := errors.AsType[*models.RefusedError](err); ok {
		return New(codes.FailedPrecondition, "MODEL_REJECTED", rejected.Error(), 0)
	}
	if unknown, ok := errors.AsType[*filters.UnknownError](err); ok {
		return badFields("UNKNOWN_FILTER", &valid.Error{Faults: []valid.Fault{unknown.Fault()}})
	}
	if file, ok := errors.AsType[*filters.FileError](err); ok {
		return New(codes.FailedPrecondition, "FILTERS_FILE", file.Error(), 0)
	}
	if large, ok := errors.AsType[*catalogue.LargeError](err); ok {
		return New(codes.ResourceExhausted, "CATALOGUE_TOO_LARGE", large.Error(), 0)
	}
	if errors.As(err, new(*admission.RefusedError)) {
		return statusOverloaded
	}
	if denied, ok := errors.AsType[*doors.DeniedError](err); ok {
		return New(codes.PermissionDenied, "PERMISSION_DENIED",
			"the token lacks the role "+string(denied.Role), 0)
	}
	// A failed store may wrap other errors, such as corruption: they do not blame the user's
	// history.
	if errors.Is(err, store.ErrFailed) {
		if errors.Is(err, store.ErrFull) {
			err = errFailedFull
		} else {
			err = store.ErrFailed
		}
	}
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return New(o.code, o.reason, o.message, o.retry)
		}
	}
	// Health and reflection answer with statuses of their own; their reason is the name of the
	// code. The gRPC library sends its own errors of a stream, such as a message over the limit, to
	// the client by itself: this status is then only logged.
	if st, ok := status.FromError(err); ok {
		return New(st.Code(), code.Code(st.Code()).String(), st.Message(), 0)
	}
	return New(codes.Internal, "INTERNAL", "internal error; the server's log has more", 0)
}

// badFields names every bad field.
func badFields(reason string, invalid *valid.Error) *status.Status {
	b := &errdetails.BadRequest{}
	for _, f := range invalid.Faults {
		b.FieldViolations = append(b.FieldViolations, &errdetails.BadRequest_FieldViolation{
			Field: f.Field, Description: f.Text, Reason: reason,
		})
	}
	return New(codes.InvalidArgument, reason, invalid.Error(), 0, b)
}

// New returns the status of an error, with its reason and, if retry is above 0, the time to
// wait before the call is repeated.
func New(
	code codes.Code, reason, message string, retry time.Duration, more ...protoadapt.MessageV1,
) *status.Status {
	details := append([]protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: reason,
		Domain: errorDomain}}, more...)
	if retry > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(retry)})
	}
	st := status.New(code, message)
	detailed, err := st.WithDetails(details...)
	if err != nil { // only for code OK, which no error maps to
		return st
	}
	return detailed
}
