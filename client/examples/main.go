// Command examples runs the examples of the clients against a real server and compares what they
// print. Run it at the root of the repository, with bin/gsimc built: make clients-test.
//
// An example whose tool is missing, or whose packages cannot be had, is skipped with a message. One
// that runs and prints anything else than the others fails the command.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// limit is the longest time that all examples together may take.
const limit = 20 * time.Minute

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

// outcome is what came of an example.
type outcome struct {
	skipped string // what is missing; empty: it ran
	err     error
	printed string
	took    time.Duration
}

func run() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	dir, err := os.MkdirTemp("", "gsimc-clients-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Setenv("SCRATCH", dir); err != nil { // it has the model too
		return err
	}
	s, err := startServer(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	outcomes := make([]outcome, len(examples))
	var all sync.WaitGroup
	for i := range examples {
		all.Go(func() {
			begin := time.Now()
			outcomes[i] = examples[i].run(ctx, s)
			outcomes[i].took = time.Since(begin)
		})
	}
	all.Wait()
	return report(outcomes)
}

// report prints a row for each example and returns an error if one failed, or if two that ran do
// not agree.
func report(outcomes []outcome) error {
	var failed []error
	agreed := ""
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "example\tseconds\toutcome")
	for i, o := range outcomes {
		e, word := examples[i], "ok"
		switch {
		case o.skipped != "":
			word = "SKIPPED: " + o.skipped
		case o.err != nil:
			word = "FAILED"
			failed = append(failed, fmt.Errorf("%s: %w", e.name, o.err))
		case agreed == "":
			agreed = o.printed
		case o.printed != agreed:
			word = "FAILED: differs"
			failed = append(failed, fmt.Errorf("%s printed\n%s\nand another example\n%s", e.name,
				o.printed, agreed))
		}
		fmt.Fprintf(table, "%s\t%.1f\t%s\n", e.name, o.took.Seconds(), word)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Printf("\neach printed:\n%s", agreed)
	return errors.Join(failed...)
}

// An example is a folder with the commands that install what it needs and make its code, and the
// command that runs it, which gets the address of the server and the id of a user.
type example struct {
	name    string
	dir     string     // empty: client/examples/NAME
	tools   []string   // without one of them it is skipped
	install [][]string // fails without a registry: the example is then skipped
	build   [][]string
	command []string
	json    bool // it calls the JSON side
	raw     bool // it prints what that answers
}

const venv = ".venv/bin/"

var examples = []example{
	{
		name: "curl", tools: []string{"curl"},
		command: []string{"./example.sh"}, json: true, raw: true,
	},
	{
		name: "python", dir: "client/python", tools: []string{"python3"},
		install: [][]string{
			{"python3", "-m", "venv", ".venv"},
			{venv + "pip", "install", "-q", "--no-compile", "-r", "requirements.txt"},
			// The wheel is made of the source distribution, and of that alone.
			{"rm", "-rf", "build"},
			{venv + "python", "-m", "build", "--no-isolation", "--outdir", "build"},
			{"sh", "-c", "python3 -m venv --without-pip $SCRATCH/venv && " +
				venv + "pip --python $SCRATCH/venv install -q --no-compile " +
				"$(echo build/*.whl)[model,frames]"},
		},
		build: [][]string{
			{venv + "mypy"},
			{"sh", "-c", "GSIMC=../../bin/gsimc exec " +
				"$SCRATCH/venv/bin/python -m unittest discover tests"},
		},
		command: []string{"sh", "-c", `exec $SCRATCH/venv/bin/python example.py "$@"`, "sh"},
	},
	{
		name: "java", tools: []string{"java", "mvn"},
		// Of all that Maven does, only this fetches.
		install: [][]string{{"mvn", "--batch-mode", "--quiet", "package"}},
		command: []string{"java", "-cp", "target/example.jar:target/lib/*",
			"com.gsimc.example.Example"},
	},
	{
		name: "typescript", dir: "client/typescript", tools: []string{"node", "npm"},
		install: [][]string{
			{"npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"},
		},
		command: []string{"test/run.sh"}, json: true,
	},
}

func (e *example) run(ctx context.Context, s *server) outcome {
	for _, tool := range e.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return outcome{skipped: tool + " is not installed"}
		}
	}
	for _, args := range e.install {
		if out, err := e.execute(ctx, args); err != nil {
			if !unreachable(out) {
				return outcome{err: err}
			}
			return outcome{skipped: "its packages cannot be had: " + lastLine(out)}
		}
	}
	for _, args := range e.build {
		if _, err := e.execute(ctx, args); err != nil {
			return outcome{err: err}
		}
	}
	address := s.grpc
	if e.json {
		address = s.json
	}
	out, err := e.execute(ctx, append(e.command, address, "user-of-"+e.name))
	if err == nil && e.raw {
		out, err = fromJSON(out)
	}
	return outcome{err: err, printed: out}
}

// execute runs a command in the folder of the example and returns what it printed. The error has it
// too.
func (e *example) execute(ctx context.Context, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = cmp.Or(e.dir, filepath.Join("client", "examples", e.name))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 5 * time.Second // a server of a test that was killed may hold what it prints to
	if err := cmd.Run(); err != nil {
		both := out.String() + errs.String()
		return both, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, both)
	}
	return out.String(), nil
}

// unreachable tells from what pip, Maven or npm printed whether a registry could not be reached, or
// the tool that makes environments of Python is missing. Anything else is a failure of the example.
func unreachable(printed string) bool {
	for _, sign := range []string{
		"ensurepip is not", "No module named venv", // Debian without python3-venv
		"Could not find a version", "NewConnectionError", "ConnectTimeout", "ReadTimeout",
		"Could not transfer artifact", "UnknownHost", "in offline mode",
		"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN",
	} {
		if strings.Contains(printed, sign) {
			return true
		}
	}
	return false
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	return line[:min(len(line), 200)]
}
