package outcome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/filters"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/servertest"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

// Every reason of an ErrorInfo stands in a comment of the protocol.
func TestReasonsAreDocumented(t *testing.T) {
	paths := check.Get(filepath.Glob("../../../api/gsimc/v1/*.proto"))(t)
	documented := map[string]bool{}
	words := regexp.MustCompile(`[A-Z][A-Z_]+`)
	for _, path := range paths {
		content := check.Get(os.ReadFile(path))(t)
		for line := range strings.Lines(string(content)) {
			_, comment, _ := strings.Cut(line, "//")
			for _, word := range words.FindAllString(comment, -1) {
				documented[word] = true
			}
		}
	}
	for _, err := range []error{&valid.Error{Faults: make([]valid.Fault, 1)}, errors.New("another"),
		valid.Bad(valid.FieldSequence, ""), &models.RefusedError{Err: errors.New("")},
		&filters.UnknownError{}, &filters.FileError{}, &admission.RefusedError{}, &doors.DeniedError{}} {
		if reason := servertest.ProblemOf(t, Status(err).Err()).Reason; !documented[reason] {
			t.Errorf("%s is in no comment of the protocol", reason)
		}
	}
	for _, o := range outcomes {
		if !documented[o.reason] {
			t.Errorf("%s is in no comment of the protocol", o.reason)
		}
	}
	if len(paths) < 4 {
		t.Errorf("found %d files", len(paths))
	}
}

func TestStatus(t *testing.T) {
	const secret = "path /secret of user 17"
	for _, tt := range []struct {
		name   string
		err    error
		code   codes.Code
		reason string
		fields []string // that break their rules
		retry  bool
	}{
		{"field", &valid.Error{Faults: []valid.Fault{{Field: "a", Text: "is bad"},
			{Field: "b", Text: "is worse"}}},
			codes.InvalidArgument, "INVALID_FIELD", []string{"a", "b"}, false},
		{"sequence", valid.Bad(valid.FieldSequence, "is wrong"),
			codes.InvalidArgument, "SEQUENCE_OUT_OF_ORDER", []string{"sequence"}, false},
		{"no user", ErrUserNotFound, codes.NotFound, "USER_NOT_FOUND", nil, false},
		{"no method", ErrUnknownMethod, codes.Unimplemented, "UNKNOWN_METHOD", nil, false},
		{"stale", ErrStaleRevision, codes.Unavailable, "STALE_REVISION", nil, true},
		{"draining", ErrDraining, codes.Unavailable, "DRAINING", nil, true},
		{"model given back", models.ErrClosed,
			codes.Unavailable, "DRAINING", nil, true},
		{"malformed message",
			&wire.MalformedError{Field: "event.item_id", Problem: "is not valid UTF-8"},
			codes.InvalidArgument, "INVALID_FIELD", []string{"event.item_id"}, false},
		{"panic of another call in the pass", passes.ErrPanic,
			codes.Internal, "INTERNAL", nil, false},
		{"model", &models.RefusedError{Err: errors.New("file is truncated")},
			codes.FailedPrecondition, "MODEL_REJECTED", nil, false},
		{"conflict", fmt.Errorf("%s: %w", secret, store.ErrConflict),
			codes.AlreadyExists, "EVENT_ID_CONFLICT", nil, false},
		{"conflict of a record", &store.ConflictError{Revision: 3},
			codes.AlreadyExists, "EVENT_ID_CONFLICT", nil, false},
		{"full", fmt.Errorf("%s: %w", secret, store.ErrFull),
			codes.ResourceExhausted, "STORE_FULL", nil, true},
		{"corrupt", fmt.Errorf("%s: %w", secret, store.ErrCorrupt),
			codes.DataLoss, "STORE_CORRUPT", nil, false},
		{"gap", state.ErrHistoryGap, codes.DataLoss, "STORE_CORRUPT", nil, false},
		{"closed", store.ErrClosed, codes.Unavailable, "STORE_CLOSED", nil, true},
		{"failed", fmt.Errorf("%s: %w", secret, store.ErrFailed),
			codes.Unavailable, "STORE_FAILED", nil, true},
		{"failed by damage", fmt.Errorf("%w: %w", store.ErrFailed, store.ErrCorrupt),
			codes.Unavailable, "STORE_FAILED", nil, true},
		{"failed on a full disk: certainly not applied",
			fmt.Errorf("%w: %w", store.ErrFailed, store.ErrFull),
			codes.ResourceExhausted, "STORE_FAILED", nil, true},
		{"cancelled", fmt.Errorf("%s: %w", secret, context.Canceled),
			codes.Canceled, "CANCELLED", nil, false},
		{"deadline", context.DeadlineExceeded,
			codes.DeadlineExceeded, "DEADLINE_EXCEEDED", nil, false},
		{"status of gRPC", status.Error(codes.ResourceExhausted, "message larger than max"),
			codes.ResourceExhausted, "RESOURCE_EXHAUSTED", nil, false},
		{"status of gRPC, cancelled", status.Error(codes.Canceled, "gone"),
			codes.Canceled, "CANCELLED", nil, false},
		{"panic", errors.New("server: panic in a handler"), codes.Internal, "INTERNAL", nil, false},
		{"store found a record malformed: certainly not applied", store.ErrInvalid,
			codes.InvalidArgument, "INVALID_FIELD", nil, false},
		{"anything else", errors.New(secret), codes.Internal, "INTERNAL", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := servertest.Problem{Code: tt.code, Reason: tt.reason, Fields: tt.fields,
				Retry: tt.retry}
			st := Status(tt.err)
			check.Same(t, want, servertest.ProblemOf(t, st.Err()), "status")
			if st.Message() == "" || strings.Contains(st.String(), secret) {
				t.Errorf("message %q is empty or shows internal text", st.Message())
			}
		})
	}
	check.Same(t, codes.OK, Status(nil).Code(), "no error is")
}
