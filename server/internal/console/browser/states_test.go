package consoletest

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	serverNote = `document.getElementById('server').textContent`
	alertText  = `document.getElementById('alert').textContent`
	listNote   = `document.getElementById('list-status').textContent`
)

// freeAddress is an address that a server can have, end and have again.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// The page tells when its token is not good any more, when another model answers and when the server
// goes, and goes on by itself where nobody has to do anything.
func TestServerChanges(t *testing.T) {
	t.Parallel()
	first, err := model()
	must(t, err)
	dir := t.TempDir()
	tokens, file := filepath.Join(dir, "tokens"), filepath.Join(dir, "model.gsimc")
	copyFile(t, first, file)
	token := newToken(t, tokens, "recommend,items")
	flags := []string{"--model", file, "--data-dir", filepath.Join(dir, "state"), "--token-file", tokens,
		"--ops-listen", freeAddress(t), "--drain-delay", "4s"}
	home, server := startServer(t, flags...)
	b := open(t, home, 1100, 760)
	paste := func(token string) {
		t.Helper()
		b.do("paste", write("#token", token+kb.Enter))
		b.until("popular items", `document.querySelectorAll('.found button').length > 5`)
	}
	b.until("the page asks for a token", `document.getElementById('access').open`)
	paste(token)
	b.do("like", click(`.found button`))
	b.until("a list", listed+` === 20 && `+listNote+`.includes('for 1 like')`)

	signal := func() {
		t.Helper()
		must(t, server.Signal(syscall.SIGHUP))
	}
	token = newToken(t, tokens, "recommend,items")
	signal()
	b.until("the token is refused", afterLikes(alertText+`.includes('wants a token')`))
	b.looksGood("a refusal")
	b.until("what was listed before the refusal", listed+` === 20`)
	paste(token)
	b.until("the refusal is gone", alertText+` === ''`)

	must(t, gsimc("train", "--data", filepath.Join(filepath.Dir(first), "events.csv.gz"), "--out", file,
		"--rank", "32", "--seed", "1", "--quiet"))
	signal()
	b.until("another model", afterLikes(listNote+`.includes('The model has changed.')`))

	// It drains, ends, and another one takes its place: the list comes back without a hand.
	must(t, server.Signal(syscall.SIGTERM))
	b.until("it drains", serverNote+`.includes('not ready: draining')`)
	b.until("it is gone", serverNote+`.includes('does not answer')`)
	b.do("by night, on a phone", chromedp.EmulateViewport(360, 740), scheme("dark"))
	b.looksGood("a server that is gone, by night, on a phone")
	b.do("like", click(listLikes))
	b.until("the like fails", alertText+`.includes('did not answer')`)
	startServer(t, flags...)
	b.until("all is well", serverNote+` === '' && `+alertText+` === '' && `+listed+` === 20`)
	b.noProblems("401", "503", "Failed to load resource: net::ERR")
}

// afterLikes is an expression that is true when condition is, and likes an item twice a second until
// then.
func afterLikes(condition string) string {
	return `(() => { if (` + condition + `) return true;
		if (Date.now() - (window.liked ?? 0) > 500) {
			window.liked = Date.now();
			document.querySelector('.list .entry button').click();
		} })()`
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	must(t, err)
}

// A server without a model and without items says so, and shows what is there as soon as it is.
func TestNothingThereYet(t *testing.T) {
	t.Parallel()
	home, _ := startServer(t, "--data-dir", t.TempDir(), "--ops-listen", "127.0.0.1:0",
		"--drain-delay", "0s", "--popularity-half-life", "1h")
	b := open(t, home, 1100, 760)
	b.until("no items", `document.querySelector('.found').parentElement.textContent.includes(
		'There are no items yet')`)
	b.until("no model", serverNote+`.includes('no model yet')`)
	b.do("like an id", write("#search", "lamp"+kb.Enter))
	b.until("no list", listNote+`.includes('0 items for 1 like') && `+listNote+
		`.includes('there is no model yet')`)
	b.do("to the content", script(`document.querySelector('.skip').click()`))
	if !eval[bool](b, `document.activeElement.id === 'view' && location.hash.startsWith('#try')`) {
		t.Error("the skip link does not lead to the content")
	}
	for _, view := range []string{"#try", "#items", "#rules", "#users", "#models", "#metrics"} {
		b.do(view, chromedp.Navigate(home+view))
		b.looksGood("nothing in " + view)
	}
	b.noProblems()
}

// On a phone a like changes what is seen of the list at once, and says how.
func TestPhone(t *testing.T) {
	t.Parallel()
	b := open(t, serve(t), 390, 740)
	b.until("popular items", `document.querySelectorAll('.found button').length > 5 && `+listed+` === 20`)
	b.do("like", click(`.found button`))
	b.until("the list has moved", `[...document.querySelectorAll('.moved')].some((e) => {
		const { top, bottom, width } = e.getBoundingClientRect();
		return e.textContent && width && top > 0 && bottom < innerHeight; })`)
	b.looksGood("a like on a phone")
	b.noProblems()
}

// The charts begin with what the server remembers, before the page was opened.
func TestPast(t *testing.T) {
	t.Parallel()
	home := serve(t)
	b := open(t, home, 1100, 760)
	looks := `fetch('past').then((r) => r.json()).then((looks) => looks.length)`
	if n := eval[int](b, looks, chromedp.EvalAwaitPromise); n < 1 {
		t.Error("the server remembers nothing of its metrics")
	}
	b.do("an hour ago", script(`(() => {
		const real = fetch;
		window.fetch = async (path, options) => (path !== '/console/past' ? real(path, options)
			: new Response(JSON.stringify([3600, 3000].map((ago) => ({ at: Date.now() / 1000 - ago,
				metrics: '' }))))); })()`))
	b.do("metrics", click("#nav-metrics"))
	b.until("a chart of an hour", `document.querySelector('.charts figure')?.textContent.includes('50 min ago')`)
	b.noProblems()
}

// The answer about one user that comes behind the answer about the next one is not shown.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	home := serve(t)
	post(t, home, "/v1/events", `{"userId": "slow", "itemId": "i001"}`)
	post(t, home, "/v1/events", `{"userId": "quick", "itemId": "i002"}`)
	b := open(t, home, 1100, 760)
	b.do("hold answers about slow back", script(`(() => {
		const real = fetch;
		window.fetch = async (path, options) => {
			const answer = await real(path, { ...options, signal: undefined });
			if (path === '/v1/users/slow') {
				await new Promise((go) => { window.letGo = go; });
				setTimeout(() => { window.late = true; }, 100);
			}
			return answer;
		}; })()`))
	b.do("look up slow", click("#nav-users"), write("#user", "slow"+kb.Enter))
	b.until("its answer is there", `'letGo' in window`)
	b.do("look up quick", script(`document.getElementById('user').value = ''`),
		write("#user", "quick"+kb.Enter))
	const held = `document.querySelector('#users [role=status]').textContent`
	b.until("quick is shown", held+` === '1 event of quick.'`)
	b.do("let the answer about slow go", script(`window.letGo()`))
	b.until("it has been read", `window.late`)
	if text := eval[string](b, held); text != "1 event of quick." {
		t.Errorf("the late answer is shown: %q", text)
	}
	b.noProblems()
}
