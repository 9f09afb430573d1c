package consoletest

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// hostile are names of items and users that would do harm as code, as markup or by their width.
var hostile = []string{
	`<script>window.harm = 1</script>`,
	`"><img src=x onerror="window.harm = 2">`,
	`'><svg onload=window.harm=3>`,
	`javascript:window.harm=4`,
	"${window.harm=5}{{constructor.constructor('window.harm=6')()}}",
	`</title></textarea><iframe srcdoc="<script>parent.harm=7</script>">`,
	strings.Repeat("W", 256),
	"\u202e\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd\u202e",
	"👩‍👩‍👧‍👦🏳️‍🌈 e\u0301\u0323\u0302\u0302\u0302",
	"../../%2e%2e/?a=b&c#d",
	"__proto__",
	`</script><script>window.harm = 8</script>`,
	`<img src=x onerror=alert(9)>`,
}

// titles are those of some items.
var titles = map[string]string{
	hostile[0]: hostile[1], hostile[1]: strings.Repeat("x", 512),
	hostile[2]: hostile[len(hostile)-1], hostile[3]: hostile[len(hostile)-2],
	hostile[6]: strings.Repeat("\U0001f600", 128),
}

// title is the text by which the page shows an item.
func title(id string) string { return cmp.Or(titles[id], id) }

// hostileModel trains on events whose most popular items have hostile ids.
func hostileModel(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	plain, events, model := filepath.Join(dir, "plain.csv"), filepath.Join(dir, "events.csv"),
		filepath.Join(dir, "model.gsimc")
	must(t, gsimc("generate", "--users", "400", "--items", "60", "--events", "6000", "--seed", "1",
		"--out", plain))
	text, err := os.ReadFile(plain)
	must(t, err)
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	must(t, err)
	column, names := slices.Index(rows[0], "item_id"), map[string]string{}
	for _, row := range rows[1:] {
		if _, has := names[row[column]]; !has && len(names) < len(hostile) {
			names[row[column]] = hostile[len(names)]
		}
		if name, has := names[row[column]]; has {
			row[column] = name
		}
	}
	var out bytes.Buffer
	must(t, csv.NewWriter(&out).WriteAll(rows))
	must(t, os.WriteFile(events, out.Bytes(), 0o600))
	must(t, gsimc("train", "--data", events, "--out", model, "--rank", "16", "--seed", "1",
		"--quiet"))
	return model
}

// Whatever items and users are called, nothing of it is run, and nothing is wider than the screen.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	home, _ := startServer(t, "--model", hostileModel(t), "--data-dir", t.TempDir(),
		"--ops-listen", "127.0.0.1:0", "--drain-delay", "0s")
	var items []map[string]any
	for id, title := range titles {
		items = append(items, map[string]any{"itemId": id, "title": title, "labels": hostile[:3],
			"categories": map[string][]string{hostile[0]: hostile[2:6], hostile[1]: hostile[6:8]}[id]})
	}
	titled, err := json.Marshal(map[string]any{"items": items})
	must(t, err)
	post(t, home, "/v1/items:batchUpsert", string(titled))
	b := open(t, home, 1100, 760)
	asText := func(where, selector, text string) {
		t.Helper()
		if !eval[bool](b, `[...document.querySelectorAll(`+quote(selector)+`)].some((e) =>
			e.textContent.includes(`+quote(text)+`))`) {
			t.Errorf("%s: %.60q is not shown as text", where, text)
		}
	}
	sane := func(where string) {
		t.Helper()
		if harm := eval[any](b, `window.harm ?? null`); harm != nil {
			t.Fatalf("%s: a name was run: %v", where, harm)
		}
		if n := eval[int](b, `document.querySelectorAll('body script, img, iframe, [onload], [onerror]')
			.length`); n != 0 {
			t.Errorf("%s: names have become %d elements", where, n)
		}
		if over := eval[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s is %d pixels wider than the screen", where, over)
		}
	}
	for _, width := range []int64{1100, 360} {
		b.do("width", chromedp.EmulateViewport(width, 760), chromedp.Navigate("about:blank"),
			chromedp.Navigate(home+"#try"))
		b.until("all are found", `document.querySelectorAll('.found li').length === 20`)
		for i, name := range hostile[:8] {
			b.do("like "+name, script(`(() => { const e = document.getElementById('search');
				e.value = `+quote(name)+`; e.form.requestSubmit(); })()`))
			b.until("a like more", fmt.Sprintf(
				`document.querySelectorAll('[aria-label="Liked items"] li').length === %d`, i+1))
			asText("likes", `[aria-label="Liked items"] li`, title(name))
			if i == 0 {
				for _, category := range hostile[2:6] {
					asText("categories", `.found .chip`, category)
				}
			}
		}
		b.until("a list", listed+` > 5 && `+listNote+`.includes('for 8 likes')`)
		b.do("why", script(`for (const e of document.querySelectorAll('.list details')) e.open = true`))
		sane(fmt.Sprintf("the list at %d pixels", width))
		b.looksGood(fmt.Sprintf("hostile names at %d pixels", width))
	}
	for _, name := range hostile {
		b.do("look up", chromedp.Navigate(home+"#users"), script(`document.getElementById('user').value = ''`),
			chromedp.Focus(chromedp.CSS("#user")),
			script(`document.getElementById('user').value = `+quote(name)),
			chromedp.KeyEvent(kb.Enter))
		b.until("nothing is held", `document.getElementById('users').textContent.includes(`+
			quote("Nothing is held of "+name)+`)`)
		sane("the user " + name)
		event, err := json.Marshal(map[string]string{"userId": name, "itemId": name,
			"eventId": name[:min(len(name), 32)]})
		must(t, err)
		post(t, home, "/v1/events", string(event))
		b.do("again", chromedp.Focus(chromedp.CSS("#user")), chromedp.KeyEvent(kb.Enter))
		b.until("an event", `document.querySelectorAll('.held tbody tr').length === 1`)
		asText("what is held", ".held tbody th", title(name))
		sane("what is held of " + name)
		b.do("the list", click(`.held a`))
		b.until("the list of the user", `document.getElementById('list-status').textContent.includes(`+
			quote("for "+name+", revision 1")+`)`)
		sane("the list of " + name)
	}
	for _, name := range []string{hostile[1], hostile[2], hostile[len(hostile)-1]} {
		b.do("the address", chromedp.Navigate(home+"#users/"+name))
		b.until("the address is a name", `document.getElementById('user').value === `+quote(name))
		sane("the address " + name)
	}
	for _, name := range []string{hostile[0], hostile[1], hostile[9]} {
		b.do("an item", chromedp.Navigate(home+"#items/"+url.PathEscape(name)))
		b.until("its page", `document.querySelector('#items h2')?.textContent === `+quote(title(name)))
		sane("the item " + name)
	}
	b.do("metrics", chromedp.Navigate(home+"#metrics"))
	b.until("charts", `document.querySelectorAll('.charts figure').length > 5`)
	sane("metrics")
	b.do("a bad address", chromedp.Navigate(home+"#users/%E0%A4%A"))
	b.until("the address is a name", `document.getElementById('user').value === '%E0%A4%A'`)
	b.noProblems("404")
	// If the page took a name for markup after all, its policy would refuse that.
	for _, code := range []string{`e.innerHTML = '<img src=x onerror=window.harm=10>'`,
		`e.setAttribute('onclick', 'window.harm = 11')`, `e.setAttribute('srcdoc', 'x')`} {
		if !eval[bool](b, `(() => { const e = document.createElement('iframe');
			try { `+code+`; } catch (refusal) { return refusal instanceof TypeError; } return false; })()`) {
			t.Errorf("the policy of the page lets %s pass", code)
		}
	}
}
