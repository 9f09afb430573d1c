// Package python keeps Python processes at hand whose packages are measured as peers. A process is
// told what to do by one JSON line on its standard input and answers by one on its standard output;
// it times the calls itself.
package python

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:embed worker.py
var script string

//go:embed approximate.py
var approximate string

// Worker is a running process. Its methods must not be called at the same time.
type Worker struct {
	Interpreter string
	Versions    Versions

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *output
	wait   func() error // for the end of the process, as often as wanted
}

// Versions are those of the interpreter and of the packages it has; a missing package is empty.
type Versions struct{ Python, NumPy, Faiss, SciPy, HNSWLib, USearch, ScaNN string }

// output collects what the process writes for people, from a goroutine of package exec.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// lastLine returns what was written last, without the lines before.
func (o *output) lastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.TrimSpace(o.text.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// stopTime is how long a process may take to end after its input has ended.
const stopTime = 10 * time.Second

// Start runs the worker under an interpreter with NumPy. env is added to the environment. The
// process ends with ctx, by Close, and when its input ends because this program did.
func Start(ctx context.Context, interpreter string, env ...string) (*Worker, error) {
	w := &Worker{Interpreter: interpreter, errors: new(output)}
	w.cmd = exec.CommandContext(ctx, interpreter, "-u", "-c", approximate+script)
	w.cmd.Env = append(os.Environ(), env...)
	w.cmd.Stderr = w.errors
	w.cmd.WaitDelay = stopTime
	w.wait = sync.OnceValue(w.cmd.Wait)
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReaderSize(out, 1<<20)
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	if err := w.Call("versions", nil, &w.Versions); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(interpreter), err),
			ignoreExit(w.Close()))
	}
	return w, nil
}

// ignoreExit drops what a process that has failed already says by its exit code.
func ignoreExit(err error) error {
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return nil
	}
	return err
}

// Call asks for an operation with arguments, and decodes the answer into reply unless that is nil.
func (w *Worker) Call(op string, args map[string]any, reply any) error {
	request := map[string]any{"op": op}
	for name, value := range args {
		request[name] = value
	}
	line, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := w.in.Write(append(line, '\n')); err != nil {
		return w.broken(op, err)
	}
	answer, err := w.out.ReadBytes('\n')
	if err != nil {
		return w.broken(op, err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(answer, &failed); err != nil {
		return fmt.Errorf("%s: the answer %.100q is not JSON: %w", op, answer, err)
	}
	if failed.Error != "" {
		return fmt.Errorf("%s: %s", op, failed.Error)
	}
	if reply == nil {
		return nil
	}
	return json.Unmarshal(answer, reply)
}

// broken is the error of a process that does not answer: the last line it wrote for people says
// why.
func (w *Worker) broken(op string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) {
		err = errors.New("the process has ended")
		_ = w.wait() // until all that it wrote is here
	}
	return fmt.Errorf("%s: %w: %s", op, err, w.errors.lastLine())
}

// Close ends the process and waits for it.
func (w *Worker) Close() error {
	return errors.Join(w.in.Close(), w.wait())
}

// Interpreters returns the ones to try: those of list, separated by commas, or else what is called
// python3 in the path and in /usr/bin, where the packages of the system live. Each is named once.
func Interpreters(list string) []string {
	names := strings.Split(list, ",")
	if list == "" {
		names = []string{"python3", "/usr/bin/python3"}
	}
	seen := make(map[string]bool)
	var distinct []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		path, err := exec.LookPath(name)
		if err != nil {
			path = name // named, and reported by Start
		}
		// Two links to one program in different environments are two interpreters: their packages
		// differ.
		if full, err := filepath.Abs(path); err == nil && !seen[full] {
			seen[full] = true
			distinct = append(distinct, path)
		}
	}
	return distinct
}
