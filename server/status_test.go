package server

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gsimc/gsimc/fault"
	"github.com/gsimc/gsimc/internal/wire"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/passes"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/server/internal/valid"
	"github.com/gsimc/gsimc/store"
)

func TestToStatus(t *testing.T) {
	const secret = "path /secret of user 17"
	for _, tt := range []struct {
		name string
		err  error
		want problem
	}{
		{"field", &valid.Error{Faults: []valid.Fault{{Field: "a", Text: "is bad"},
			{Field: "b", Text: "is worse"}}},
			problem{codes.InvalidArgument, "INVALID_FIELD", []string{"a", "b"}, false}},
		{"sequence", valid.Bad(valid.FieldSequence, "is wrong"),
			problem{codes.InvalidArgument, "SEQUENCE_OUT_OF_ORDER", []string{"sequence"}, false}},
		{"no user", errUserNotFound, problem{codes.NotFound, "USER_NOT_FOUND", nil, false}},
		{"no method", errUnknownMethod, problem{codes.Unimplemented, "UNKNOWN_METHOD", nil, false}},
		{"stale", errStaleRevision, problem{codes.Unavailable, "STALE_REVISION", nil, true}},
		{"draining", errDraining, problem{codes.Unavailable, "DRAINING", nil, true}},
		{"model given back", models.ErrClosed,
			problem{codes.Unavailable, "DRAINING", nil, true}},
		{"malformed message",
			&wire.MalformedError{Field: "event.item_id", Problem: "is not valid UTF-8"},
			problem{codes.InvalidArgument, "INVALID_FIELD", []string{"event.item_id"}, false}},
		{"panic of another call in the pass", passes.ErrPanic,
			problem{codes.Internal, "INTERNAL", nil, false}},
		{"model", &models.RefusedError{Err: errors.New("file is truncated")},
			problem{codes.FailedPrecondition, "MODEL_REJECTED", nil, false}},
		{"conflict", fmt.Errorf("%s: %w", secret, store.ErrConflict),
			problem{codes.AlreadyExists, "EVENT_ID_CONFLICT", nil, false}},
		{"conflict of a record", &store.ConflictError{Revision: 3},
			problem{codes.AlreadyExists, "EVENT_ID_CONFLICT", nil, false}},
		{"full", fmt.Errorf("%s: %w", secret, store.ErrFull),
			problem{codes.ResourceExhausted, "STORE_FULL", nil, true}},
		{"corrupt", fmt.Errorf("%s: %w", secret, store.ErrCorrupt),
			problem{codes.DataLoss, "STORE_CORRUPT", nil, false}},
		{"gap", state.ErrHistoryGap, problem{codes.DataLoss, "STORE_CORRUPT", nil, false}},
		{"closed", store.ErrClosed, problem{codes.Unavailable, "STORE_CLOSED", nil, true}},
		{"failed", fmt.Errorf("%s: %w", secret, store.ErrFailed),
			problem{codes.Unavailable, "STORE_FAILED", nil, true}},
		{"failed by damage", fmt.Errorf("%w: %w", store.ErrFailed, store.ErrCorrupt),
			problem{codes.Unavailable, "STORE_FAILED", nil, true}},
		{"failed on a full disk: certainly not applied",
			fmt.Errorf("%w: %w", store.ErrFailed, store.ErrFull),
			problem{codes.ResourceExhausted, "STORE_FAILED", nil, true}},
		{"cancelled", fmt.Errorf("%s: %w", secret, context.Canceled),
			problem{codes.Canceled, "CANCELLED", nil, false}},
		{"deadline", context.DeadlineExceeded,
			problem{codes.DeadlineExceeded, "DEADLINE_EXCEEDED", nil, false}},
		{"status of gRPC", status.Error(codes.ResourceExhausted, "message larger than max"),
			problem{codes.ResourceExhausted, "RESOURCE_EXHAUSTED", nil, false}},
		{"status of gRPC, cancelled", status.Error(codes.Canceled, "gone"),
			problem{codes.Canceled, "CANCELLED", nil, false}},
		{"panic", errPanic, problem{codes.Internal, "INTERNAL", nil, false}},
		{"store found a record malformed: certainly not applied", store.ErrInvalid,
			problem{codes.InvalidArgument, "INVALID_FIELD", nil, false}},
		{"anything else", errors.New(secret), problem{codes.Internal, "INTERNAL", nil, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := toStatus(tt.err)
			if d := cmp.Diff(tt.want, problemOf(t, st.Err())); d != "" {
				t.Errorf("status (-want +got):\n%s", d)
			}
			if st.Message() == "" || strings.Contains(st.String(), secret) {
				t.Errorf("message %q is empty or shows internal text", st.Message())
			}
		})
	}
	if toStatus(nil).Code() != codes.OK {
		t.Error("no error is not OK")
	}
}

// TestReasonsAreDocumented wants every reason of an ErrorInfo to stand in a comment of the protocol.
func TestReasonsAreDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "status.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../api/gsimc/v1/*.proto")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	words := regexp.MustCompile(`[A-Z][A-Z_]+`)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			_, comment, _ := strings.Cut(line, "//")
			for _, word := range words.FindAllString(comment, -1) {
				documented[word] = true
			}
		}
	}
	reasons := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "reason") {
			return true
		}
		reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil || !documented[reason] {
			t.Errorf("%s is in no comment of the protocol (%v)", reason, err)
		}
		reasons++
		return true
	})
	if reasons < 25 || len(paths) < 4 {
		t.Errorf("found %d reasons and %d files", reasons, len(paths))
	}
}

func TestConfigValidateReportsEveryFault(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	nan := 0.0
	nan /= nan
	bad := Config{Listen: "nowhere", DrainDelay: -1, SlowRequest: -1,
		EventWeights: map[string]float64{"A": 1, "ok": nan, "": 1, "fine": -1000, "much": 1000.5}}
	err := bad.Validate()
	if err == nil {
		t.Fatal("a configuration full of faults is accepted")
	}
	for _, field := range []string{"Listen", "AdminListen", "OpsListen", "StateCacheBytes",
		"DefaultTimeout",
		"SlowRequest", "DrainDelay", "DrainTimeout",
		"MaxRecvBytes", "MaxSendBytes", "MaxConcurrentStreams", "MaxConnections",
		"MaxConnectionAge", "Estimator",
		`"A"`, `"ok"`, `""`, `"much"`} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("the error does not mention %s:\n%v", field, err)
		}
	}
	if strings.Contains(err.Error(), "fine") {
		t.Errorf("the error mentions a good weight:\n%v", err)
	}
	wantFields := []string{
		"Listen", "AdminListen", "OpsListen", "StateCacheBytes",
		"DefaultTimeout", "MaxInFlight", "MaxStreams", "StreamIdle", "SlowRequest",
		"DrainDelay", "DrainTimeout",
		"MaxRecvBytes", "MaxSendBytes", "MaxConcurrentStreams", "MaxConnections",
		"MaxConnectionAge", "Estimator", "Console", "PopularityHalfLife",
		"CanaryEvents", "EventWeights",
	}
	if got := fault.Fields(err); !slices.Equal(got, wantFields) {
		t.Errorf("faults of the fields %v, want %v", got, wantFields)
	}
	if _, err := New(bad, nil, nil); len(fault.Fields(err)) != len(wantFields) {
		t.Errorf("New takes a bad configuration, or hides its faults: %v", err)
	}
}
