package follow

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

type recorder struct{ told []string }

func (r *recorder) Observed([]state.Written) { r.told = append(r.told, "observed") }
func (r *recorder) Forgot(user string)       { r.told = append(r.told, "forgot "+user) }
func (r *recorder) Rewrote(user string, _ bool, _ []store.Event) {
	r.told = append(r.told, "rewrote "+user)
}
func (r *recorder) Reweighed() { r.told = append(r.told, "reweighed") }

// Every follower hears of everything.
func TestAll(t *testing.T) {
	var first, last recorder
	all := All{&first, &last}
	all.Observed(nil)
	all.Forgot("ann")
	all.Rewrote("bob", true, nil)
	all.Reweighed()
	want := []string{"observed", "forgot ann", "rewrote bob", "reweighed"}
	for i, r := range []recorder{first, last} {
		check.Same(t, want, r.told, "follower %d was told", i)
	}
}
