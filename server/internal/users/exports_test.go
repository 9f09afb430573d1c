package users

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestExportsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewExports(3)
		begin := func(caller string) (*export, context.Context) {
			ctx, cancel := context.WithCancel(t.Context())
			return all.begin(caller, cancel), ctx
		}
		stalled, stalledCtx := begin("shop")
		_, workingCtx := begin("shop")
		begin("other")
		begun := make(chan struct{})
		go func() {
			_ = sending(stalledCtx, stalled, func(*pb.ExportUserResponse) error {
				close(begun)
				<-stalledCtx.Done()
				return nil
			})(nil)
		}()
		<-begun
		if e, _ := begin("shop"); e != nil {
			t.Error("one more has a place, and nobody waits for long")
		}
		time.Sleep(2 * exportStall)
		third, _ := begin("shop")
		if third == nil || stalledCtx.Err() == nil || !stalled.ended() {
			t.Error("an export that nobody reads makes no room")
		}
		stalled.end() // which takes nobody's place
		if e, _ := begin("shop"); e != nil {
			t.Error("an export makes room that does not wait")
		}
		if e, _ := begin("other"); e != nil {
			t.Error("a caller gets more than its share")
		}
		newcomer, _ := begin("newcomer")
		if newcomer == nil || workingCtx.Err() == nil {
			t.Error("the caller with most makes no room for another")
		}
		newcomer.end()
		check.Same(t, 2, len(all.taken), "places are taken")
	})
}
