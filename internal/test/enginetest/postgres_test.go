package enginetest

import (
	"runtime"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// TestProgramsOutliveThreads: a program of a database runs to its end though the threads of the test
// end, as those do in which there are hosts.
func TestProgramsOutliveThreads(t *testing.T) {
	p := &Postgres{bin: postgresBin(t), dir: t.TempDir()}
	p.bin = "/bin" // of a program that takes its time
	stop := make(chan struct{})
	defer close(stop)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ended := make(chan struct{})
				go func() {
					runtime.LockOSThread() // and never unlocked: the thread ends
					close(ended)
				}()
				<-ended
			}
		}()
	}
	for range 10 {
		check.Must(t, p.run(nil, "sleep", "0.1"))
	}
}
