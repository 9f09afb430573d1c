package call

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
)

// A summary has the uncertainty that the server tells, and none where it tells none.
func TestUserShowOmitsUncertainty(t *testing.T) {
	for _, told := range []*float64{nil, proto.Float64(.25)} {
		var text, object strings.Builder
		s := newSummary(&pb.User{UserId: "ann", Uncertainty: told})
		s.print(&cli.App{Stdout: &text})
		check.Must(t, (&cli.App{Stdout: &object}).PrintJSON(s))
		for _, got := range []string{text.String(), object.String()} {
			if strings.Contains(got, "uncertainty") != (told != nil) {
				t.Errorf("of %v: %s", told, got)
			}
		}
	}
}
