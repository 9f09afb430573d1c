package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/certtest"
	"github.com/gsimc/gsimc/internal/test/check"
)

// clientExample is an example of docs/clients.md. Its commands run in its folder.
type clientExample struct {
	name    string
	dir     string     // from the root
	tools   []string   // without one of them it is skipped
	install [][]string // fails without a registry: the example is then skipped
	build   [][]string
	command []string // gets the address of the server and the id of a user
	json    bool     // it calls the JSON side
	secure  bool     // it calls a server with TLS, and gets the files of its authority and a token
	raw     bool     // it prints what that answers
}

const (
	venv = ".venv/bin/"
	mvn  = "mvn --batch-mode --quiet -Dmaven.repo.local=$SCRATCH/maven "
)

var clientExamples = []clientExample{
	{
		name: "curl", dir: "client/examples/curl", tools: []string{"curl"},
		command: []string{"./example.sh"}, json: true, raw: true,
	},
	{
		name: "python", dir: "client/python", tools: []string{"python3"},
		install: [][]string{
			{"sh", "-c", "../pack.sh $SCRATCH/packages python"},
			{"sh", "-c", "python3 -m venv --without-pip $SCRATCH/venv && " +
				venv + "pip --python $SCRATCH/venv install -q --no-compile " +
				"$(echo $SCRATCH/packages/*.whl)[model,frames]"},
		},
		build: [][]string{
			{venv + "mypy"},
			{"sh", "-c", "exec $SCRATCH/venv/bin/python -m unittest discover tests"},
		},
		command: []string{"sh", "-c", `exec $SCRATCH/venv/bin/python example.py "$@"`, "sh"},
	},
	{
		name: "java", dir: "client/java/example", tools: []string{"java", "mvn"}, secure: true,
		// Each of them fetches. The local repository of Maven has no gsimc of an earlier run.
		install: [][]string{
			{"sh", "-c", "../../pack.sh $SCRATCH/packages java"},
			{"sh", "-c", mvn + "install:install-file -Dfile=$(ls $SCRATCH/packages/*[0-9].jar) " +
				"-DpomFile=$(ls $SCRATCH/packages/*.pom)"},
			{"sh", "-c", mvn + "clean package"},
		},
		command: []string{"java", "-cp", "target/example.jar:target/lib/*", "Example"},
	},
	{
		name: "typescript", dir: "client/typescript", tools: []string{"node", "npm"},
		install: [][]string{{"sh", "-c", "../pack.sh $SCRATCH/packages typescript"}},
		command: []string{"test/run.sh"}, json: true,
	},
}

// TestClients runs the examples in all languages against a real server, which have to print the
// same, and the tests of the packages of clients.
func TestClients(t *testing.T) {
	if os.Getenv("GSIMC_CLIENTS") == "" {
		t.Skip("takes minutes and fetches packages of four languages: run make clients-test")
	}
	dir := t.TempDir()
	model, events := filepath.Join(dir, "model.gsimc"), filepath.Join(dir, "events.csv")
	mustRun(t, "generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events)
	mustRun(t, "train", "--data", events, "--rank", "16", "--out", model)
	s := startClientServers(t, model, dir)
	env := append(os.Environ(), "GSIMC="+binary(t), "SCRATCH="+dir)
	printed := make([]string, len(clientExamples))
	t.Run("each", func(t *testing.T) {
		for i := range clientExamples {
			e := &clientExamples[i]
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				printed[i] = e.run(t, env, s)
			})
		}
	})
	ran := slices.DeleteFunc(printed, func(s string) bool { return s == "" })
	for _, p := range ran {
		check.Same(t, ran[0], p, "what another example printed")
	}
}

// clientServers are what the examples call.
type clientServers struct {
	plain, secure *serverProcess
	files         []string // for clients of secure: its authority and a token
}

func startClientServers(t *testing.T, model, dir string) clientServers {
	write := func(name, text string) string { return certtest.Write(t, dir, name, []byte(text)) }
	a := certtest.NewAuthority(t)
	pair := a.Issue(t, 1, time.Now().Add(time.Hour))
	token, line, _ := strings.Cut(execute(t, "token", "shop", "--roles", "recommend,observe"), "\n")
	return clientServers{
		plain: startServe(t, model, filepath.Join(dir, "state"), "--json-listen", "127.0.0.1:0"),
		secure: startServe(t, model, filepath.Join(dir, "secure"), "--token-file",
			write("tokens", line), "--tls-cert", write("server.pem", string(pair.Cert)),
			"--tls-key", write("server.key", string(pair.Key))),
		files: []string{write("ca.pem", string(a.PEM)), write("token", token)},
	}
}

// run returns what the example printed.
func (e *clientExample) run(t *testing.T, env []string, s clientServers) string {
	for _, tool := range e.tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool, "is not installed")
		}
	}
	for _, args := range e.install {
		if out, err := e.execute(t, env, args); err != nil {
			if !unreachable(out) {
				t.Fatal(err)
			}
			t.Skip("its packages cannot be had:", out)
		}
	}
	for _, args := range e.build {
		check.Get(e.execute(t, env, args))(t)
	}
	args := []string{s.plain.GRPC, "user-of-" + e.name}
	if e.json {
		args[0] = s.plain.JSON
	}
	if e.secure {
		args = append([]string{s.secure.GRPC, args[1]}, s.files...)
	}
	out := check.Get(e.execute(t, env, append(e.command, args...)))(t)
	if e.raw {
		out = fromJSON(t, out)
	}
	check.Same(t, true, out != "", "it prints something")
	return out
}

// execute runs a command in the folder of the example and returns what it printed. The error has it
// too.
func (e *clientExample) execute(t *testing.T, env, args []string) (string, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = filepath.Join("..", "..", e.dir), env
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
	return slices.ContainsFunc([]string{
		"ensurepip is not", "No module named venv", // Debian without python3-venv
		"Could not find a version", "NewConnectionError", "ConnectTimeout", "ReadTimeout",
		"Could not transfer artifact", "UnknownHost", "in offline mode",
		"ENOTFOUND", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "EAI_AGAIN",
	}, func(sign string) bool { return strings.Contains(printed, sign) })
}

func TestUnreachable(t *testing.T) {
	for text, want := range map[string]bool{
		"npm error code ECONNREFUSED":                               true,
		"ERROR: Could not find a version that satisfies the re":     true,
		"Example.java:[12,5] cannot find symbol":                    false,
		"example.ts(25,13): error TS2532: Object is possibly 'und'": false,
	} {
		check.Same(t, want, unreachable(text), "%q", text)
	}
}

// fromJSON turns the answers of the JSON side, one after the other, into the lines that the other
// examples print.
func fromJSON(t *testing.T, printed string) string {
	body, status, _ := strings.Cut(printed, " HTTP ")
	type list struct {
		Items []struct {
			ItemID string
			Score  float64
		}
	}
	var (
		kept         struct{ UserRevision string }
		scored, last list
		refused      struct {
			Code    int
			Details []struct {
				FieldViolations []struct{ Field, Description, Reason string }
			}
		}
	)
	answers := json.NewDecoder(strings.NewReader(body))
	for _, into := range []any{&kept, &scored, &last, &refused} {
		check.Must(t, answers.Decode(into))
	}
	check.Same(t, "400\n", status, "the status of HTTP of a mistake")
	check.Same(t, 3, refused.Code, "its code")
	check.Same(t, 1, len(last.Items), "scores")
	var b strings.Builder
	fmt.Fprintf(&b, "revision %s\nlist", kept.UserRevision)
	for _, item := range scored.Items {
		b.WriteString(" " + item.ItemID)
	}
	for _, item := range last.Items {
		fmt.Fprintf(&b, "\nscore %.4f", item.Score)
	}
	for _, detail := range refused.Details {
		for _, v := range detail.FieldViolations {
			fmt.Fprintf(&b, "\nrefused INVALID_ARGUMENT %s %s %s", v.Reason, v.Field, v.Description)
		}
	}
	return b.String() + "\n"
}
