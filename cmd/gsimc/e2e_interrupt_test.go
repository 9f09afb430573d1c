package main

import (
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
	"github.com/gsimc/gsimc/internal/test/soak"
)

// Without a server a file of events is refused at once, with the reason, off a terminal too.
func TestObserveWithoutServer(t *testing.T) {
	data := writeFile(t, "events.csv", "user_id,item_id,timestamp\nu,i,1700000000\n")
	begin := time.Now()
	refused(t, cli.ExitFailure, "cannot connect to 127.0.0.1:1 (connection refused): is the "+
		"server running there? see --server", "observe", "--data", data, "--server", "127.0.0.1:1")
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

// An interrupted demonstration ends at once, says what it keeps, and leaves no folder behind: when it
// has hardly begun, and when its training runs, which gets the same signal. The end takes some
// hundred milliseconds, and on a busy machine the fastest of three runs counts.
func TestDemoInterrupted(t *testing.T) {
	const most = 5 * time.Second
	for _, sign := range []string{"*", "*/events.csv.gz"} {
		fastest := time.Hour
		for try := 0; try < 3 && fastest > most; try++ {
			fastest = min(fastest, interruptDemo(t, sign))
		}
		if fastest > most {
			t.Errorf("it took %s to end", fastest)
		}
	}
}

// interruptDemo interrupts a demonstration when there is a file sign in the folder of its temporary
// files. It returns the time from the signal to the end.
func interruptDemo(t *testing.T, sign string) time.Duration {
	t.Helper()
	dir := t.TempDir()
	demo := proctest.Start(t, []string{"TMPDIR=" + dir}, binary(t), "demo")
	eventually(func() bool {
		found, err := filepath.Glob(filepath.Join(dir, sign))
		return err == nil && len(found) > 0
	})
	time.Sleep(200 * time.Millisecond) // nothing shows that a step is in the middle
	begin := time.Now()
	demo.Signal(t, syscall.SIGTERM)
	wantInterrupted(t, demo, "")
	took := time.Since(begin)
	mustBeEmpty(t, dir)
	return took
}

// wantInterrupted waits for the end of a command that was interrupted. It must say so in one line
// with a text.
func wantInterrupted(t *testing.T, p *proctest.Process, text string) {
	t.Helper()
	want := "gsimc: interrupted: " + text
	if code := p.Wait(); code != cli.ExitInterrupted || strings.Count(p.Err.String(), want) != 1 {
		t.Errorf("exit code %d, stderr %q, want %d and %q", code, &p.Err, cli.ExitInterrupted, want)
	}
}

// silentServer accepts connections and says nothing. accepted gets one value for each.
func silentServer(t *testing.T) (address string, accepted <-chan struct{}) {
	t.Helper()
	listener := check.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	came := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			came <- struct{}{}
		}
	}()
	return listener.Addr().String(), came
}

// An interrupted call says in one line what it leaves, and how to go on.
func TestCallInterrupted(t *testing.T) {
	data := writeFile(t, "events.csv", "user_id,item_id,timestamp\nu,i,1700000000\n")
	for _, c := range []struct{ args, want string }{
		{"recommend --user u --timeout 1m", "the call was given up; the same command repeats it"},
		{"--quiet observe --data " + data, "the server keeps the 0 acknowledged events; " +
			"the same command sends the other 1 "},
	} {
		address, accepted := silentServer(t)
		p := gsimc(t, append(strings.Fields(c.args), "--server", address)...)
		<-accepted
		p.Signal(t, syscall.SIGINT)
		wantInterrupted(t, p, c.want)
		check.Same(t, 1, strings.Count(p.Err.String(), "\n"), "lines of gsimc %s", c.args)
	}
}

// An interrupted training or evaluation tells in one line that nothing was kept, and leaves no part
// of a file behind. The events come through a pipe: once they are read, the command is at work.
func TestLearningInterrupted(t *testing.T) {
	soak.Processes(t, "the real binary")
	events := filepath.Join(t.TempDir(), "events.csv")
	mustRun(t, "generate", "--users", "20000", "--items", "4000", "--events", "1000000",
		"--out", events)
	data := mustRead(t, events)
	for command, kept := range map[string]string{
		"train": "nothing was written", "evaluate": "nothing is kept",
	} {
		t.Run(command, func(t *testing.T) {
			dir := t.TempDir()
			args := []string{command, "--data", "-", "--rank", "1000"}
			if command == "train" {
				args = append(args, "--out", filepath.Join(dir, "m.gsimc"))
			}
			p := proctest.New(t, nil, binary(t), args...)
			in := check.Get(p.Cmd.StdinPipe())(t)
			p.Start(t)
			check.Get(io.WriteString(in, data))(t)
			in.Close()
			p.Signal(t, syscall.SIGINT)
			wantInterrupted(t, p, kept)
			mustBeEmpty(t, dir)
		})
	}
}
