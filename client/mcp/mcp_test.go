package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gsimc/gsimc/client/internal/program"
	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/proctest"
)

// asProgram makes the program of the tests gsimc-mcp itself.
const asProgram = "GSIMC_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// gsimc is the server's program, as make build compiles it.
const gsimc = "../../bin/gsimc"

// needGsimc skips a test without the program.
func needGsimc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(gsimc); err != nil {
		t.Skip(gsimc + " is missing: run make build")
	}
}

// startServer serves a model with a catalogue, and returns the addresses of gRPC and JSON.
func startServer(t *testing.T, flags ...string) (grpc, jsonAddress string) {
	t.Helper()
	dir := t.TempDir()
	events, model := filepath.Join(dir, "events.csv"), filepath.Join(dir, "model.gsimc")
	for _, args := range [][]string{
		{"generate", "--users", "300", "--items", "120", "--events", "6000", "--out", events},
		{"train", "--data", events, "--rank", "16", "--out", model},
	} {
		if out, err := exec.Command(gsimc, args...).CombinedOutput(); err != nil {
			t.Fatalf("gsimc %s: %v\n%s", args[0], err, out)
		}
	}
	const free = "127.0.0.1:0"
	serving := proctest.Start(t, nil, gsimc, append([]string{"serve", "--model", model,
		"--data-dir", filepath.Join(dir, "state"),
		"--listen", free, "--json-listen", free, "--admin-listen", free, "--ops-listen", free,
		"--drain-delay", "0s", "--log-format", "json"}, flags...)...)
	return serving.Says(t, `"grpc":"([^"]+)"`), serving.Says(t, `"json":"([^"]+)"`)
}

func post(t *testing.T, url, body string) {
	t.Helper()
	answer, err := http.Post(url, "application/json", strings.NewReader(body))
	check.Must(t, err)
	text, _ := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	check.MustSame(t, http.StatusOK, answer.StatusCode, "%s: %s\n%s", url, answer.Status, text)
}

func TestTools(t *testing.T) {
	needGsimc(t)
	server, jsonAddress := startServer(t)
	post(t, "http://"+jsonAddress+"/v1/items:batchUpsert", `{"items": [
		{"itemId": "i001", "title": "Alien", "categories": ["horror"]},
		{"itemId": "i002", "title": "Aliens", "categories": ["horror"]}]}`)
	for _, item := range []string{"i001", "i005", "i001"} {
		post(t, "http://"+jsonAddress+"/v1/events", `{"userId": "ada", "itemId": "`+item+`"}`)
	}

	stdio := exec.Command(os.Args[0], "--server", server)
	stdio.Env = append(os.Environ(), asProgram+"=1")
	listening := proctest.Start(t, []string{asProgram + "=1"}, os.Args[0], "--server", server,
		"--http-listen", "127.0.0.1:0")
	url := listening.Says(t, `serving (\S+)`)
	for name, transport := range map[string]mcp.Transport{
		"stdio": &mcp.CommandTransport{Command: stdio},
		"http":  &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true},
	} {
		t.Run(name, func(t *testing.T) {
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
				Connect(t.Context(), transport, nil)
			check.Must(t, err)
			defer func() { _ = session.Close() }()
			testTools(t, session)
		})
	}
	for what, c := range map[string]struct {
		origin, host string
		body         int
		want         int
	}{
		"a page of another origin":  {origin: "https://example.com", want: http.StatusForbidden},
		"a name of somebody else's": {host: "example.com", want: http.StatusForbidden},
		"a large body":              {body: 5 << 20, want: http.StatusRequestEntityTooLarge},
	} {
		ask, err := http.NewRequest(http.MethodPost, url,
			strings.NewReader("{}"+strings.Repeat(" ", c.body)))
		check.Must(t, err)
		ask.Header.Set("Content-Type", "application/json")
		ask.Header.Set("Accept", "application/json, text/event-stream")
		ask.Header.Set("Origin", c.origin)
		ask.Host = c.host
		answer, err := http.DefaultClient.Do(ask)
		check.Must(t, err)
		_ = answer.Body.Close()
		check.Same(t, c.want, answer.StatusCode, "%s: %s", what, answer.Status)
	}
}

// TestToken wants lists without titles from a token that may not read the catalogue, and a plain
// answer where it may do nothing.
func TestToken(t *testing.T) {
	needGsimc(t)
	dir := t.TempDir()
	tokens, token := filepath.Join(dir, "tokens"), filepath.Join(dir, "token")
	drawn, err := exec.Command(gsimc, "token", "agent", "--roles", "recommend", "--add-to",
		tokens).Output()
	check.Must(t, err)
	check.Must(t, os.WriteFile(token, drawn, 0o600))
	server, _ := startServer(t, "--token-file", tokens)
	stdio := exec.Command(os.Args[0], "--server", server, "--client-token-file", token)
	stdio.Env = append(os.Environ(), asProgram+"=1")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: stdio}, nil)
	check.Must(t, err)
	defer func() { _ = session.Close() }()
	var l list
	ask(t, session, "recommend", `{"history": ["i001"], "n": 3}`, &l, "1. i")
	fails(t, session, "search_items", `{}`, "the token lacks the role items")
	fails(t, session, "user_history", `{"user_id": "ada"}`, "the token lacks the role user")
}

// testTools asks each tool about the user ada.
func testTools(t *testing.T, session *mcp.ClientSession) {
	for tool, err := range session.Tools(t.Context(), nil) {
		check.Must(t, err)
		if !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it changes nothing", tool.Name)
		}
	}
	var recommended, explained, given list
	ask(t, session, "recommend", `{"user_id": "ada", "n": 5}`, &recommended, " for Alien (i001), 2 times")
	if len(recommended.Items) != 5 || recommended.Items[0].Source != "personalized" {
		t.Errorf("recommended %+v", recommended)
	}
	for _, i := range recommended.Items {
		addsUp(t, i)
	}
	ask(t, session, "recommend", `{"user_id": "ada", "categories": ["horror"]}`, &recommended,
		"Aliens (i002): ", "Fewer items than asked for")
	check.Same(t, 1, len(recommended.Items), "items of the category: %+v", recommended.Items)
	ask(t, session, "recommend", `{"user_id": "nobody"}`, &recommended, "Nothing is known of this user")
	ask(t, session, "recommend", `{"user_id": "ada", "list": "trending"}`, &recommended,
		"There are no items", "no trends")

	ask(t, session, "recommend", `{"user_id": "ada", "list": "because"}`, &recommended,
		"Because of Alien (i001):")

	ask(t, session, "explain", `{"user_id": "ada", "item_id": "i002"}`, &explained, "Aliens (i002): ",
		"for anybody", "for i005")
	addsUp(t, explained.Items[0])
	ask(t, session, "score_items", `{"history": ["i001", "i005", "i001"], "item_ids": ["i002", "no"]}`, &given,
		`The model does not know "no"`)
	if a, b := given.Items[0].Score, explained.Items[0].Score; math.Abs(a-b) > 1e-3 {
		t.Errorf("the history has the score %g, the user %g", a, b)
	}
	ask(t, session, "similar_items", `{"item_id": "i002", "n": 3}`, &recommended)
	if len(recommended.Items) != 3 || recommended.Items[0].Source != "similar" {
		t.Errorf("similar: %+v", recommended)
	}

	ask(t, session, "similar_items", `{"item_id": "no such"}`, &recommended,
		"There are no items", `The model does not know "no such"`)

	var hits found
	ask(t, session, "search_items", `{"query": "lien"}`, &hits, "Alien (i001) [horror], ", "training users")
	check.Same(t, 2, len(hits.Items), "found %+v", hits)
	var done history
	ask(t, session, "user_history", `{"user_id": "ada", "n": 2}`, &done, "2 of 3 events of ada", "like Alien (i001)")

	for arguments, want := range map[string]string{
		`{}`:                                   "give user_id or history, one of them",
		`{"user_id": "ada", "history": ["a"]}`: "give user_id or history, one of them",
		`{"user_id": "ada", "n": 51}`:          "n is 51: give 1 to 50",
		`{"user_id": "ada", "n": -1}`:          "n is -1: give 1 to 50",
		`{"user_id": "ada", "list": "new"}`:    `list is "new": give personal, popular, trending, together or because`,
		`{"history": [""]}`:                    "InvalidArgument",
	} {
		fails(t, session, "recommend", arguments, want)
	}
	testOdd(t, session)
}

// testOdd wants errors of tools, in words, of arguments that no tool takes; null is none.
func testOdd(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	for _, c := range []struct{ tool, arguments, want string }{
		{"recommend", `{"user_id": 7}`, `user_id is 7: give a text`},
		{"recommend", `{"userId": "ada"}`, `"userId" is no argument: give user_id`},
		{"recommend", `{"user_id": "ada", "m": 1}`, `"m" is no argument: give user_id, history, n, ` +
			`list, categories or include_seen`},
		{"recommend", `{"user_id": "ada", "n": 1e30}`, `n is 1e30: give a whole number`},
		{"recommend", `{"user_id": "ada", "n": "3"}`, `n is "3": give a whole number`},
		{"recommend", `{"history": "i001"}`, `history is "i001": give a list of texts`},
		{"recommend", `{"user_id": "ada", "include_seen": "yes"}`,
			`include_seen is "yes": give true or false`},
		{"recommend", `["ada"]`, `the arguments are not an object of JSON: give user_id, `},
		{"similar_items", `{}`, "item_id is missing: give it"},
		{"similar_items", `null`, "item_id is missing: give it"},
		{"similar_items", `{"item_id": null}`, "item_id is missing: give it"},
		{"similar_items", `{"item_id": "i001", "n": 1.5}`, "n is 1.5: give a whole number"},
		{"score_items", `{"user_id": "ada", "item_ids": ["i001", 3]}`,
			`item_ids is ["i001",3]: give a list of texts`},
		{"score_items", `{"user_id": "ada", "item_ids": ["i001", null]}`,
			`item_ids is ["i001",null]: give a list of texts`},
		{"score_items", `{"user_id": "ada", "item_ids": []}`, "item_ids has 0: give 1 to 50"},
		{"explain", `{"item_id": "i001"}`, "give user_id or history, one of them"},
		{"search_items", `{"text": "Alien"}`, `"text" is no argument: give query or n`},
		{"user_history", `{"user_id": "nobody"}`, "there is no history under this user_id"},
		{"user_history", `{"user_id": "` + strings.Repeat("x", 1000) + `"}`,
			"user_id has 1000 bytes, at most 256 are allowed"},
	} {
		answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool,
			Arguments: json.RawMessage(c.arguments)})
		check.Must(t, err) // it would be one of the protocol
		said := answer.Content[0].(*mcp.TextContent).Text
		if !answer.IsError || !strings.Contains(said, c.want) {
			t.Errorf("%s %.60s: failed %t with %q, want %q", c.tool, c.arguments, answer.IsError, said,
				c.want)
		}
	}
	ask(t, session, "recommend", `{"user_id": "ada", "n": 2.0, "history": null, "list": null}`,
		new(list), "1. ")
}

// ask calls a tool, wants texts in its answer and decodes its fields.
func ask(t *testing.T, session *mcp.ClientSession, tool, arguments string, fields any, texts ...string) {
	t.Helper()
	said, failed := call(t, session, tool, arguments, fields)
	if failed {
		t.Fatalf("%s %s: %s", tool, arguments, said)
	}
	for _, text := range texts {
		check.Has(t, said, text, "%s %s", tool, arguments)
	}
}

// fails calls a tool and wants an error with a text.
func fails(t *testing.T, session *mcp.ClientSession, tool, arguments, text string) {
	t.Helper()
	if said, failed := call(t, session, tool, arguments, nil); !failed || !strings.Contains(said, text) {
		t.Errorf("%s %s: failed %t, want an error with %q:\n%s", tool, arguments, failed, text, said)
	}
}

// call returns the text of an answer, and whether it is an error. Errors of the protocol are those
// of arguments that do not fit the schema.
func call(t *testing.T, session *mcp.ClientSession, tool, arguments string, fields any) (string, bool) {
	t.Helper()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool,
		Arguments: json.RawMessage(arguments)})
	if err != nil {
		return err.Error(), true
	}
	if fields != nil && !answer.IsError {
		text := check.Get(json.Marshal(answer.StructuredContent))(t)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(fields); err != nil {
			t.Fatalf("%s: %v in %s", tool, err, text)
		}
	}
	return answer.Content[0].(*mcp.TextContent).Text, answer.IsError
}

// addsUp wants the parts of a score to be the score.
func addsUp(t *testing.T, i scored) {
	t.Helper()
	sum := i.Why.Base + i.Why.Trend + i.Why.Others
	for _, c := range i.Why.Because {
		sum += c.Added
	}
	if i.Why.Again != nil {
		sum += i.Why.Again.Added
	}
	if math.Abs(sum-i.Score) > 1e-5 {
		t.Errorf("the parts of %s add up to %g", i, sum)
	}
}

// TestFlags wants errors that name the flag, and the exit code of wrong usage.
func TestFlags(t *testing.T) {
	t.Setenv("GSIMC_VERSION", "1.2") // of an image, perhaps
	for _, c := range []struct{ args, want string }{
		{"--http-listen 192.0.2.1:80", "--http-listen"},
		{"--http-listen nonsense", "--http-listen"},
		{"--client-token-file /nowhere", "--client-token-file"},
		{"--tls-ca /nowhere", "--tls-ca"},
		{"--client-cert x", "--client-key"},
		{"--timeout 0s", "--timeout"},
		{"--nonsense", "--nonsense"},
	} {
		var stderr strings.Builder
		ctx, cancel := context.WithCancel(t.Context())
		code := run(ctx, strings.Fields(c.args), &mcp.StdioTransport{}, io.Discard, &stderr)
		cancel()
		if code != program.Usage || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit %d, %q", c.args, code, stderr.String())
		}
	}
}

// TestLines wants an answer to each line that is no message, and the program to go on.
func TestLines(t *testing.T) {
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan int)
	go func() {
		ended <- run(t.Context(), nil, overLines(in, out), io.Discard, io.Discard)
	}()
	read := bufio.NewScanner(answers)
	for _, c := range []struct{ line, want string }{
		{"nonsense", `"id":null,"error":{"code":-32700,`},
		{"5", `"id":null,"error":{"code":-32600,`},
		{`{"jsonrpc":"2.0"}`, `"code":-32600,`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600,`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"id":1,"result":{}`},
	} {
		check.Must(t, check.Err(io.WriteString(lines, c.line+"\n")))
		if !read.Scan() || !strings.Contains(read.Text(), c.want) {
			t.Fatalf("%s is answered by %q, want %s", c.line, read.Text(), c.want)
		}
	}
	_ = lines.Close()
	check.Same(t, 0, <-ended, "exit code at the end of the input")
}
