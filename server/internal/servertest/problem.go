package servertest

import (
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Problem is what a status says.
type Problem struct {
	Code   codes.Code
	Reason string
	Fields []string
	Retry  bool
}

// ProblemOf reads an error that is a status.
func ProblemOf(t testing.TB, err error) Problem {
	t.Helper()
	st, ok := status.FromError(err)
	if !ok {
		t.Fatalf("%v is not a status", err)
	}
	p := Problem{Code: st.Code()}
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			p.Reason = d.GetReason()
			if d.GetDomain() != "gsimc" {
				t.Errorf("ErrorInfo.domain = %q, want gsimc", d.GetDomain())
			}
		case *errdetails.BadRequest:
			for _, v := range d.GetFieldViolations() {
				p.Fields = append(p.Fields, v.GetField())
			}
		case *errdetails.RetryInfo:
			p.Retry = true
		}
	}
	return p
}
