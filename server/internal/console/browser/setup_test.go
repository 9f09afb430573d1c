// Package consoletest uses the console of a real server by a real browser: real clicks and keys, and
// axe-core for what disabled people need. It is a module of its own, since it needs Chromium, npm
// and a library to drive the browser.
package consoletest

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	binary     = "../../../../bin/gsimc" // of make build
	axePackage = "axe-core@4.10.3"
	cache      = ".cache"
	// a call, a click or a page may take this long on a busy machine: axe-core takes 4 s for a long list on
	// an idle one, and took more than 20 s beside all else of .ci/run
	patience = time.Minute
)

// model is the file of the model of the demonstration, made once.
var model = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gsimc-console-")
	if err != nil {
		return "", err
	}
	events, model := filepath.Join(dir, "events.csv.gz"), filepath.Join(dir, "model.gsimc")
	return model, errors.Join(
		gsimc("generate", "--users", "3000", "--items", "1000", "--events", "120000", "--seed", "1",
			"--out", events),
		gsimc("train", "--data", events, "--out", model, "--rank", "64", "--seed", "1", "--quiet"))
})

// gsimc runs a command.
func gsimc(args ...string) error {
	if out, err := exec.Command(binary, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("gsimc %s: %w: %s", args[0], err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := model(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path)) // a folder for temporary files
	}
	os.Exit(code)
}

// serve starts a server on the model and returns the address of its console.
func serve(t *testing.T, flags ...string) string {
	t.Helper()
	path, err := model()
	must(t, err)
	home, _ := startServer(t, append([]string{"--model", path, "--data-dir", t.TempDir(),
		"--ops-listen", "127.0.0.1:0", "--drain-delay", "0s"}, flags...)...)
	return home
}

// startServer starts a server, which ends with the test, and returns the address of its console.
func startServer(t *testing.T, flags ...string) (home string, server *os.Process) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0",
		"--admin-listen", "127.0.0.1:0", "--log-format", "json", "--quality-sample", "1"},
		flags...)...)
	stderr, err := cmd.StderrPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	})
	var all strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		var line struct{ Msg, Console string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go io.Copy(io.Discard, stderr)
			return line.Console, cmd.Process
		}
	}
	t.Fatalf("the server does not serve: %s", &all)
	return "", nil
}

// browser is a window of Chromium with what went wrong in it.
type browser struct {
	t    *testing.T
	ctx  context.Context
	home string

	mu       sync.Mutex
	problems []string
}

// open opens the console of a server in a new window.
func open(t *testing.T, home string, width, height int64) *browser {
	t.Helper()
	chromium := chromiumPath(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium),
		chromedp.NoSandbox, // of the browser: the pages are ours
		chromedp.Flag("force-device-scale-factor", "1"),
		// Text that is appearing has too little contrast for axe-core.
		chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.WindowSize(int(width), int(height)))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); stop() })
	b := &browser{t: t, ctx: ctx, home: home}
	// The first action starts the browser, which must outlive it.
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("%s does not start: %v", chromium, err)
	}
	must(t, chromedp.Listen(ctx, b.listen))
	b.do("open the console", chromedp.EmulateViewport(width, height), chromedp.Navigate(home),
		chromedp.WaitVisible(chromedp.CSS("nav a[aria-current]")))
	return b
}

// listen notes exceptions and errors of the page, such as what its policy forbids.
func (b *browser) listen(event any) {
	var problem string
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		problem = e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			problem += " " + x.Description
		}
	case *page.EventJavascriptDialogOpening:
		problem = "a dialog: " + e.Message
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			problem = e.Entry.Text + " " + e.Entry.URL
		}
	}
	if problem != "" {
		b.mu.Lock()
		b.problems = append(b.problems, problem)
		b.mu.Unlock()
	}
}

// noProblems fails the test if the page had any, but for those with an allowed part.
func (b *browser) noProblems(allowed ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		ok := false
		for _, part := range allowed {
			ok = ok || strings.Contains(p, part)
		}
		if !ok {
			b.t.Errorf("the page has a problem: %s", p)
		}
	}
}

// do runs actions within the patience of the test.
func (b *browser) do(what string, actions ...step) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// step is something that is done in a browser.
type step = chromedp.Action[chromedp.Void]

// eval returns the value of an expression.
func eval[T any](b *browser, expression string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	return run(b, expression, chromedp.Evaluate[T](expression, options...))
}

// run is do for what has a value.
func run[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%.200s: %v", what, err)
	}
	return value
}

// script runs a piece of JavaScript.
func script(text string) step { return chromedp.Evaluate[chromedp.Void](text) }

// until waits for an expression to be true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[chromedp.Void](expression,
		chromedp.WithPollingInterval(20*time.Millisecond)))
	if err != nil {
		b.t.Fatalf("%s: %v; the page says %q, problems %q", what, err,
			eval[string](b, `document.body.innerText.slice(0, 600)`), b.problems[max(0, len(b.problems)-5):])
	}
}

func chromiumPath(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROME"), "chromium", "chromium-browser",
		"google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skip("Chromium is not installed (apt-get install chromium, or CHROME=path)")
	return ""
}

// axe is the text of axe-core, from npm or from the cache folder.
var axe = sync.OnceValues(func() (string, error) {
	path := filepath.Join(cache, strings.ReplaceAll(axePackage, "@", "-")+".js")
	if text, err := os.ReadFile(path); err == nil {
		return string(text), nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("npm", "pack", axePackage, "--silent")
	cmd.Dir = cache
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack: %w", err)
	}
	archive, err := os.ReadFile(filepath.Join(cache, strings.TrimSpace(string(out))))
	if err != nil {
		return "", err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", err
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err != nil {
			return "", errors.Join(errors.New("the package has no axe.min.js"), err)
		}
		if h.Name == "package/axe.min.js" {
			text, err := io.ReadAll(files)
			if err != nil {
				return "", err
			}
			return string(text), os.WriteFile(path, text, 0o600)
		}
	}
})

// post makes a call beside the browser and returns its answer.
func post(t *testing.T, home, path, body string) []byte {
	t.Helper()
	resp, err := http.Post(strings.TrimSuffix(home, "/console/")+path, "application/json",
		strings.NewReader(body))
	must(t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, resp.Status, text)
	}
	return text
}

// drawToken draws a token with roles, and the line of it for the file of a server.
func drawToken(t *testing.T, roles string) (token, line string) {
	t.Helper()
	out, err := exec.Command(binary, "token", "console", "--roles", roles).Output()
	must(t, err)
	token, line, _ = strings.Cut(string(out), "\n")
	return token, line
}

// must ends a test that cannot go on.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
