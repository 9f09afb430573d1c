package consoletest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// What scripts look at.
const (
	settled   = `#try .list:not([aria-busy])` // no newer list is asked for, which would take a node away
	listed    = `document.querySelectorAll('` + settled + ` > li').length`
	firstItem = `document.querySelector('#try .list .title').textContent`
	topItems  = `[...document.querySelectorAll('#try .list .title')].map((e) => e.textContent).join()`
	listLikes = settled + ` .entry button`
	listWhys  = settled + ` details summary`
)

func click(selector string) step { return chromedp.Click(chromedp.CSS(selector)) }

func write(selector, keys string) step { return chromedp.SendKeys(chromedp.CSS(selector), keys) }

// named gives items titles and categories, as a catalogue has them. They are made up.
func named(t *testing.T, home string) {
	t.Helper()
	kinds := []string{"Lamp", "Chair", "Kettle", "Carpet", "Clock", "Shelf", "Mirror", "Vase"}
	styles := []string{"Amber", "Cedar", "Cobalt", "Ivory", "Linen", "Olive", "Slate"}
	type item struct {
		ItemID     string   `json:"itemId"`
		Title      string   `json:"title"`
		Categories []string `json:"categories"`
	}
	var items []item
	for i := range 1000 {
		kind := kinds[i*7%len(kinds)]
		items = append(items, item{fmt.Sprintf("i%03d", i),
			fmt.Sprintf("%s %s No. %d", styles[i*3%len(styles)], kind, i), []string{strings.ToLower(kind)}})
	}
	body, err := json.Marshal(map[string]any{"items": items})
	must(t, err)
	post(t, home, "/v1/items:batchUpsert", string(body))
}

// The tasks that somebody new does, each with its time from the first click to what it shows.
func TestNewcomer(t *testing.T) {
	file, err := model()
	must(t, err)
	home := serve(t, "--arm", "b="+file+":40")
	named(t, home)
	b := open(t, home, 1100, 900)
	b.do("look", scheme("light"))
	task := func(name string, fn func()) {
		begin := time.Now()
		fn()
		t.Logf("%-52s %4d ms", name, time.Since(begin).Milliseconds())
	}
	task("find an item by its title and like it", func() {
		b.until("popular items come by themselves", listed+` === 20 &&
			document.querySelectorAll('.found button').length > 5`)
		b.do("search", write("#search", "amber vase"))
		b.until("items of the title are found", `[...document.querySelectorAll('.found .title')].filter(
			(e) => e.textContent.includes('Amber Vase')).length > 3`)
		b.do("like", click(`.found button`))
		b.until("a list of 20", listNote+`.startsWith('20 items for 1 like')`)
	})
	b.picture("task-1")
	task("like an item of the list, and the list changes", func() {
		before, liked := eval[string](b, topItems), eval[string](b, firstItem)
		b.do("like", click(listLikes))
		b.until("another list", topItems+` !== `+quote(before))
		if after := eval[string](b, topItems); strings.Contains(","+after+",", ","+liked+",") {
			t.Errorf("%s was liked and is on the list", liked)
		}
		said := eval[string](b, `document.getElementById('list-status').textContent`)
		if !strings.HasPrefix(said, "20 items for 2 likes") {
			t.Errorf("a screen reader hears %q", said)
		}
	})
	b.picture("task-2")
	task("see why an item is on the list", func() {
		b.do("why", click(listWhys))
		b.until("bars", `document.querySelectorAll('.list li:first-child .bar').length >= 4`)
		parts := eval[[]float64](b, `[...document.querySelectorAll(
			'.list li:first-child tbody td.score')].map((e) => Number(e.textContent))`)
		score := eval[float64](b, `parseFloat(document.querySelector(
			'.list li:first-child tfoot td.score').textContent)`)
		for _, p := range parts {
			score -= p
		}
		if n := eval[int](b, `document.querySelectorAll('.list .bar .local').length`); n == 0 {
			t.Error("nothing is told of the local term")
		}
		if len(parts) < 3 || score > 1e-3 || score < -1e-3 {
			t.Errorf("the parts %v do not add up to the score: %v is left", parts, score)
		}
		if n := eval[int](b, `document.querySelectorAll('.chart .after').length`); n < 20 {
			t.Errorf("the spectrum has %d bars", n)
		}
	})
	b.picture("task-3")
	task("explore by a draw of the taste, then vary the list", func() { exploreAndVary(b) })
	b.do("vary", choose("strategy", "diverse"))
	b.looksGood("the controls of a list that varies")
	b.do("by score", choose("strategy", ""))
	task("send a link to these likes", func() { shareLink(b) })
	b.picture("task-5")
	task("keep likes of a user, take one back, erase all", func() { keepAndErase(b) })
	task("change an item and hide it", func() { changeItem(b) })
	b.picture("task-7")
	shoppers(t, home)
	task("see which models serve, and how their test stands", func() {
		b.do("models", click("#nav-models"))
		b.until("two models and a verdict", `document.querySelectorAll('#models .card').length >= 4 &&
			document.querySelector('#models .verdict svg') !== null`)
	})
	b.picture("task-8")
	b.noProblems("404") // of a user who is not known, or erased
	size := eval[int](b, `performance.getEntries()
		.filter((e) => e.transferSize && !e.name.match(/[/]v1[/]|[/]readyz|[/]metrics/))
		.reduce((sum, e) => sum + e.transferSize, 0)`)
	t.Logf("the page took %d bytes with the headers of its answers", size)
	if size < 10<<10 || size > 300<<10 {
		t.Errorf("the page took %d bytes, want some, and at most 300 KiB", size)
	}
}

func choose(id, value string) step {
	return script(fmt.Sprintf(`(() => { const e = document.getElementById(%q); e.value = %q;
		for (const name of ['input', 'change']) e.dispatchEvent(new Event(name, { bubbles: true })); })()`, id, value))
}

// exploreAndVary changes the order of the list, with nothing but the controls.
func exploreAndVary(b *browser) {
	const categories = `[...document.querySelectorAll('.list .chip')].map((e) => e.textContent)`
	before := eval[string](b, topItems)
	b.do("Thompson", choose("strategy", "thompson"),
		chromedp.Focus(chromedp.CSS("#strength")), chromedp.KeyEvent(kb.End))
	b.until("another order", topItems+` !== `+quote(before))
	b.until("the uncertainty is told", `document.getElementById('uncertainty').value < 1`)

	b.do("by score", choose("strategy", ""))
	b.until("the first order", topItems+` === `+quote(before))
	b.do("vary", choose("strategy", "diverse"),
		chromedp.Focus(chromedp.CSS("#diversity")), chromedp.KeyEvent(kb.End))
	b.until("items that differ", topItems+` !== `+quote(before))
	b.until("the same first item, and many categories", firstItem+` === `+
		quote(strings.Split(before, ",")[0])+` && new Set(`+categories+`).size > 4`)
	b.do("two of a category", chromedp.Focus(chromedp.CSS("#per-category")),
		chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	b.until("eight categories of two", listed+` === 16 && new Set(`+categories+`).size === 8`)
	b.picture("task-4")
	b.do("any number", chromedp.KeyEvent(kb.Home), choose("strategy", ""))
	b.until("the first order", topItems+` === `+quote(before))
}

// keepAndErase sends likes as events of a user, and then looks after what is held.
func keepAndErase(b *browser) {
	b.do("load a new user", write("#load-user", "newcomer"+kb.Enter))
	b.until("nobody knows the user", `document.getElementById('list-status').textContent.includes('unknown user')`)
	b.do("send likes", click("#observe"), click(listLikes))
	for i := 1; i <= 3; i++ {
		b.until("the list is of the next revision",
			fmt.Sprintf(`document.getElementById('list-status').textContent.includes('revision %d')`, i))
		if i < 3 {
			b.do("like", click(listLikes))
		}
	}
	b.do("look up", click("#nav-users"), write("#user", "newcomer"+kb.Enter))
	b.until("three events", `document.querySelectorAll('.held tbody tr').length === 3`)
	b.do("retract", click(".held tbody button"))
	b.until("two events", `document.querySelectorAll('.held tbody tr').length === 2`)
	if !eval[bool](b, `document.querySelector('#users .danger').disabled`) {
		b.t.Error("a user can be erased without the id")
	}
	b.do("type another id", write("#forget-id", "newcome"))
	if !eval[bool](b, `document.querySelector('#users .danger').disabled`) {
		b.t.Error("a user can be erased by another id")
	}
	b.picture("task-6")
	b.do("erase", write("#forget-id", "r"), click("#users .danger"))
	b.until("the user is erased", `document.getElementById('users').textContent.includes('is erased')`)
	b.do("look again", write("#user", kb.Enter))
	b.until("nothing is held", `document.getElementById('users').textContent.includes('Nothing is held')`)
}

// shareLink opens the address of the list in another window.
func shareLink(b *browser) {
	other := open(b.t, eval[string](b, `location.href`), 1100, 900)
	other.until("the same list", topItems+` === `+quote(eval[string](b, topItems))+` && `+
		listNote+`.startsWith('20 items for 2 likes')`)
	other.noProblems()
}

// changeItem gives an item that is listed another title, and hides it.
func changeItem(b *browser) {
	const saved = `document.querySelector('#items .saved').textContent.startsWith('Saved')`
	b.do("find it", click("#nav-items"), write("#find-item", "amber vase"))
	b.until("it is found", `document.querySelector('#items .found .title')?.textContent.includes('Amber Vase')`)
	b.do("open it", click("#items .found a"))
	b.until("its form", `document.getElementById('item-title')?.value.includes('Amber Vase')`)
	id := eval[string](b, `decodeURIComponent(location.hash.split('/')[1])`)
	b.do("another title", script(`document.getElementById('item-title').value = ''`),
		write("#item-title", "Umber Vase"),
		script(`dispatchEvent(new Event('hashchange'))`), // as when the server is back: edits stay
		write("#item-numbers", "price=12.5"+kb.Enter),
		click("#items button[type=submit]"))
	b.until("it is saved", saved+` && document.querySelector('#items h2').textContent === 'Umber Vase'`)
	b.do("hide it", click("#item-hidden"), click("#items button[type=submit]"))
	b.until("it is hidden", saved+` && document.querySelector('#items .facts').textContent.includes('yes, hidden')`)
	if got := eval[string](b, `fetch('/v1/items/`+id+`').then((r) => r.json()).then(({ item }) =>
		[item.title, item.categories.join(), item.numbers.price, item.hidden].join())`,
		chromedp.EvalAwaitPromise); got != "Umber Vase,vase,12.5,true" {
		b.t.Errorf("the catalogue has %s", got)
	}
}

// shoppers take items of their lists, so that an A/B test has something to say.
func shoppers(t *testing.T, home string) {
	t.Helper()
	for i := range 1200 {
		user := fmt.Sprintf("shopper%d", i%400)
		text := post(t, home, "/v1/recommend", fmt.Sprintf(`{"userId": %q, "attribute": true}`, user))
		var list struct {
			RecommendationID string
			Items            []struct{ ItemID string }
		}
		must(t, json.Unmarshal(text, &list))
		event := map[string]string{"userId": user, "itemId": list.Items[i*7%10].ItemID,
			"recommendationId": list.RecommendationID}
		body, err := json.Marshal(event)
		must(t, err)
		post(t, home, "/v1/events", string(body))
	}
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// All can be done by keys, and what has the focus keeps it when the list changes.
func TestKeyboard(t *testing.T) {
	b := open(t, serve(t), 1280, 900)
	b.until("popular items", `document.querySelectorAll('.found button').length > 5`)
	tabTo := func(what, condition string) {
		t.Helper()
		for range 60 {
			b.do("tab", chromedp.KeyEvent(kb.Tab))
			if eval[bool](b, `(() => { const e = document.activeElement; return Boolean(`+condition+`); })()`) {
				return
			}
		}
		t.Fatalf("no key leads to %s", what)
	}
	b.do("start at the top", script(`document.activeElement.blur()`))
	tabTo("the skip link", `e.className === 'skip'`)
	tabTo("an item that was found", `e.closest('.found') && e.textContent === 'Like'`)
	b.do("like", chromedp.KeyEvent(kb.Enter))
	b.until("a list", listNote+`.startsWith('20 items for 1 like')`)
	tabTo("an item of the list", `e.closest('.entry') && e.textContent === 'Like'`)
	before := eval[string](b, topItems)
	b.do("like", chromedp.KeyEvent(kb.Enter))
	b.until("another list", topItems+` !== `+quote(before))
	if !eval[bool](b, `document.activeElement.closest('.entry') !== null`) {
		t.Error("the focus is lost with the list")
	}
	tabTo("an explanation", `e.tagName === 'SUMMARY' && e.closest('.list')`)
	b.do("open it", chromedp.KeyEvent(kb.Enter))
	b.until("bars", `document.querySelectorAll('.list .bar').length >= 3`)
	b.noProblems()
}

// A server with tokens shows the page and nothing else, until a token is pasted. It is kept nowhere.
func TestToken(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	token := newToken(t, tokens, "recommend")
	b := open(t, serve(t, "--token-file", tokens), 1280, 900)
	b.until("the page asks for a token", `document.getElementById('access').open &&
		document.getElementById('alert').textContent.includes('token')`)
	b.do("paste", write("#token", token+kb.Enter))
	b.until("the token may not look at items", `document.body.textContent.includes('may not look at items')`)
	b.do("like by id", write("#search", "i553"+kb.Enter))
	b.until("a list", listNote+`.startsWith('20 items for 1 like')`)
	b.do("look up a user", click("#nav-users"), write("#user", "ann"+kb.Enter))
	b.until("the token may not look at users", `document.getElementById('alert').textContent.includes('role')`)
	kept := eval[string](b, `JSON.stringify([location.href, document.cookie, {...localStorage},
		{...sessionStorage}, document.documentElement.outerHTML, document.getElementById('token').value])`)
	if strings.Contains(kept, token) {
		t.Error("the token is kept in the page")
	}
	b.do("load the page again", chromedp.Reload())
	b.until("the token is gone", `document.getElementById('alert').textContent.includes('token')`)
	b.noProblems("401", "403")
}

// A token that is bound to a user gets popular items before anybody is named, then the list of that
// user; of one that has ended the page says so.
func TestBoundToken(t *testing.T) {
	dir, encode := t.TempDir(), base64.RawURLEncoding.EncodeToString
	public, key, _ := ed25519.GenerateKey(nil)
	keys, tokens := filepath.Join(dir, "keys"), filepath.Join(dir, "tokens")
	for name, text := range map[string]string{
		keys:   `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + encode(public) + `"}]}`,
		tokens: "web recommend,user jwt shop gsimc user=sub keys=" + keys,
	} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	sign := func(ends time.Time) string {
		text := encode([]byte(`{"alg":"EdDSA"}`)) + "." + encode(fmt.Appendf(nil,
			`{"iss":"shop","aud":"gsimc","sub":"ann","exp":%d}`, ends.Unix()))
		return text + "." + encode(ed25519.Sign(key, []byte(text)))
	}
	b := open(t, serve(t, "--token-file", tokens), 1280, 900)
	b.until("the page asks for a token", `document.getElementById('access').open`)
	b.do("paste", write("#token", sign(time.Now().Add(time.Hour))+kb.Enter))
	b.until("popular items", listNote+` === '20 popular items for anybody.'`)
	b.do("load ann", write("#load-user", "ann"+kb.Enter))
	b.until("the list of ann", listNote+`.includes('for ann, revision 0')`)
	b.do("show rules", click("#nav-rules"))
	b.until("the list of anybody", `document.querySelectorAll('#rules .sides').length === 1`)
	b.do("paste", click("#nav-try"), script(`document.getElementById('access').open = true`),
		write("#token", sign(time.Now().Add(-time.Hour))+kb.Enter))
	b.until("the token has ended", alertText+`.includes('the time of the token is over')`)
	b.noProblems("401", "403", "404") // ann has no events
}

// newToken draws a token with roles and adds it to a file.
func newToken(t *testing.T, file, roles string) string {
	t.Helper()
	token, line := drawToken(t, roles)
	must(t, os.WriteFile(file, []byte(line), 0o600))
	return token
}

// Each view passes axe-core without serious findings, by day, by night and on a phone, where nothing
// is wider than the screen. With GSIMC_PICTURES it is photographed.
func TestAccessibility(t *testing.T) {
	file, err := model()
	must(t, err)
	rules := filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(rules, []byte("no_chairs: {no_categories: [chair]}\n"+
		"light_first: {any_categories: [lamp], weight: 1.5}\n"), 0o600))
	home := serve(t, "--arm", "b="+file+":40", "--filters-file", rules)
	named(t, home)
	shoppers(t, home)
	for i, item := range []string{"i553", "i483", "i081", "i299", "i420"} {
		post(t, home, "/v1/events", fmt.Sprintf(`{"userId": "ann", "itemId": %q, "eventId": "e%d"}`, item, i))
	}
	traffic(t, home)
	source, err := axe()
	if err != nil {
		t.Skipf("axe-core cannot be had: %v", err)
	}
	looks := 1 // of a chart, besides the first two
	if os.Getenv("GSIMC_PICTURES") != "" {
		looks = 5
	}
	b := open(t, home, 1100, 760)
	for _, look := range []struct {
		name, scheme  string
		width, height int64
	}{
		{"day", "light", 1100, 760}, {"night", "dark", 1100, 760}, {"phone", "light", 390, 740},
	} {
		b.do("look "+look.name, chromedp.EmulateViewport(look.width, look.height),
			scheme(look.scheme))
		for _, view := range []struct{ name, address, ready string }{
			{"try", "#try/ann", `document.querySelector('#nav-try[aria-current]') && ` + listed +
				` === 20 && document.querySelectorAll('.chart .after').length > 9`},
			{"items", "#items/i553", `document.querySelectorAll('#items .found').length === 2 &&
				document.getElementById('item-title')?.value`},
			{"rules", "#rules", `document.querySelectorAll('#rules .sides').length === 1 &&
				document.querySelectorAll('#kept-rules li').length === 2`},
			{"models", "#models", `document.querySelector('#models .verdict svg') !== null`},
			{"users", "#users/ann", `document.querySelectorAll('.held tbody tr').length === 5`},
			{"metrics", "#metrics", fmt.Sprintf(`document.querySelectorAll('.charts figure').length > 5 &&
				(document.querySelector('.charts path.line').getAttribute('d').match(/L/g) ?? []).length >= %d`,
				looks)},
		} {
			b.do(view.name, chromedp.Navigate(home+view.address))
			b.until(view.name+" is there", view.ready)
			if view.name == "try" {
				b.until("the list is of ann", listNote+`.includes('for ann')`)
				b.do("why", click(listWhys))
				b.until("bars", `document.querySelectorAll('.list .bar').length >= 4`)
			}
			name := look.name + " " + view.name
			if wide := eval[int](b, `document.documentElement.scrollWidth`); int64(wide) > look.width {
				t.Errorf("%s is %d pixels wide", name, wide)
			}
			b.serious(name, source)
			b.picture(view.name + "-" + look.name)
		}
	}
	b.noProblems()
}

// scheme sets what the user prefers: "light" or "dark".
func scheme(name string) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name},
				{Name: "prefers-reduced-motion", Value: "reduce"}}})
		return err
	})
}

// looksGood is serious without a text of axe-core, which passes if there is none.
func (b *browser) looksGood(view string) {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		b.t.Logf("%s: axe-core cannot be had: %v", view, err)
		return
	}
	b.serious(view, source)
}

// serious runs axe-core on the page and fails with its serious and critical findings.
func (b *browser) serious(view, source string) {
	b.t.Helper()
	b.do("axe-core on "+view, script(source))
	type finding struct {
		ID, Impact, Help string
		Nodes            []string
	}
	found := eval[[]finding](b, `axe.run({resultTypes: ['violations']}).then((r) => r.violations.map((v) => ({
		ID: v.id, Impact: v.impact, Help: v.help,
		Nodes: v.nodes.map((n) => n.html + " " + n.failureSummary)})))`, chromedp.EvalAwaitPromise)
	for _, f := range found {
		message := fmt.Sprintf("%s: %s (%s), %s: %.400q", view, f.ID, f.Impact, f.Help, f.Nodes)
		if f.Impact == "serious" || f.Impact == "critical" {
			b.t.Error(message)
		} else {
			b.t.Log(message)
		}
	}
}

// picture photographs the window into the folder that GSIMC_PICTURES names, if it is to be shown.
func (b *browser) picture(name string) {
	dir := os.Getenv("GSIMC_PICTURES")
	if dir == "" || !slices.Contains([]string{"try-day", "metrics-night", "try-phone",
		"items-phone", "rules-phone", "users-phone", "models-phone", "metrics-phone", "task-1", "task-2",
		"task-3", "task-4", "task-5", "task-6", "task-7", "task-8"}, name) {
		return
	}
	b.do("go to the top", script(`scrollTo(0, 0)`))
	png, err := smaller(run(b, "photograph "+name, chromedp.CaptureScreenshot()))
	if len(png) > 150<<10 {
		b.t.Errorf("the picture %s has %d bytes, which is much for a repository", name, len(png))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// traffic makes calls until the test ends, for charts to have something to show.
func traffic(t *testing.T, home string) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-stopped })
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			user := fmt.Sprintf("visitor%d", i%40)
			for path, body := range map[string]string{
				"/v1/events":    fmt.Sprintf(`{"userId": %q, "itemId": "i%03d"}`, user, i*i*7%1000),
				"/v1/recommend": fmt.Sprintf(`{"userId": %q}`, user),
			} {
				resp, err := http.Post(strings.TrimSuffix(home, "/console/")+path, "application/json",
					strings.NewReader(body))
				if err != nil {
					return // the server has ended
				}
				resp.Body.Close()
			}
		}
	}()
}
