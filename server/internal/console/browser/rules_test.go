package consoletest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A rule is seen on the lists of users before it is kept, and the entry that the page writes does
// the same from the file of a server.
func TestRules(t *testing.T) {
	t.Parallel()
	home := serve(t)
	named(t, home)
	for i, item := range []string{"i553", "i483", "i081"} {
		post(t, home, "/v1/events", fmt.Sprintf(`{"userId": "ann", "itemId": %q, "eventId": "e%d"}`, item, i))
	}
	b := open(t, home, 1100, 900)
	const chips = `[...document.querySelectorAll('#rules .card:first-child .sides > :last-child .chip')].map((e) => e.textContent)`
	b.do("rules", click("#nav-rules"))
	b.until("the list of anybody", `document.querySelectorAll('#rules .sides').length === 1`)
	b.do("for ann", write("#rule-user-0", "ann"+kb.Enter))
	b.until("the list of ann", `document.querySelector('#rules .stack h2')?.textContent === 'ann' &&
		document.querySelectorAll('#rules .sides').length === 2`)
	b.do("lamps", write("#rule-any_categories", "lamp"), chromedp.Focus(chromedp.CSS("#rule-weight")),
		chromedp.KeyEvent(kb.End))
	b.until("lamps are first", chips+`.slice(0, 2).join() === 'lamp,lamp'`)
	b.until("it is told what came and went", `['new', 'goes'].every((mark) =>
		[...document.querySelectorAll('#rules .moved')].some((e) => e.textContent === mark))`)
	b.looksGood("a rule")
	boost, first := eval[string](b, entryText), eval[string](b, afterIDs)
	b.do("cheap ones only", choose("rule-kind", "filter"))
	b.until("lamps only", `!`+entryText+`.includes('weight') && `+chips+`.length === 10 && `+chips+`.every((c) => c === 'lamp')`)
	filter, only := eval[string](b, entryText), eval[string](b, afterIDs)
	b.do("a bad range", write("#rule-from", "low"+kb.Enter))
	b.until("it is told", `document.getElementById('rule-status').textContent.includes('From must be a number')`)
	b.do("on a phone", chromedp.EmulateViewport(390, 740))
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("rules are %d pixels wide on a phone", wide)
	}
	b.noProblems()

	file := filepath.Join(t.TempDir(), "filters.yaml")
	must(t, os.WriteFile(file, []byte(boost+"\n\"only\""+filter[len(`"new_rule"`):]+"\n"), 0o600))
	kept := serve(t, "--filters-file", file)
	named(t, kept)
	for i, item := range []string{"i553", "i483", "i081"} {
		post(t, kept, "/v1/events", fmt.Sprintf(`{"userId": "ann", "itemId": %q, "eventId": "e%d"}`, item, i))
	}
	for want, rule := range map[string]string{
		first: `"namedBoosts": ["new_rule"]`, only: `"filter": {"namedFilters": ["only"]}`,
	} {
		var list struct{ Items []struct{ ItemID string } }
		text := post(t, kept, "/v1/recommend", `{"userId": "ann", "pageSize": 10, `+rule+`}`)
		must(t, json.Unmarshal(text, &list))
		got := ""
		for _, item := range list.Items {
			got += item.ItemID + " "
		}
		if got != want {
			t.Errorf("%s from the file lists %s, the page %s", rule, got, want)
		}
	}
}

// A rule is saved into the file of the server and holds for the next list; the others stay as they
// are. Rules are opened, in the form or as text, and deleted; what somebody else has written since
// is not lost, and a token without the role is told so.
func TestSaveRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, tokens := filepath.Join(dir, "filters.yaml"), filepath.Join(dir, "tokens")
	const others = "# ours\nlarge: {ranges: [{name: size, gt: 0}]} # no form\n" +
		"fresh: {weight: 0.5, by: {number: published, shape: age, scale: 60}}\n"
	must(t, os.WriteFile(file, []byte(others), 0o600))
	home := serve(t, "--filters-file", file)
	named(t, home)
	b := open(t, home, 1100, 900)
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("the file has %q, %v, want %q", got, err, want)
		}
	}
	b.do("rules", click("#nav-rules"))
	b.until("the rules", keptNames+` === 'large filter,fresh boost'`)
	b.do("a name", choose("rule-name", "lamps"), write("#rule-name", kb.Enter))
	b.do("lamps", choose("rule-kind", "filter"), write("#rule-any_categories", "lamp"),
		chromedp.Focus(chromedp.CSS("#rule-from")))
	b.until("the lists", `document.querySelectorAll('#rules .chip').length > 10`)
	holds(others) // Enter saves nothing
	b.do("save", chromedp.Focus(chromedp.CSS("#rule-save")), chromedp.KeyEvent(kb.Enter))
	b.until("it is saved", saidText+`.startsWith('Saved') && `+keptNames+` === 'large filter,fresh boost,lamps filter'`)
	const lamps = "lamps: {any_categories: [\"lamp\"]}\n"
	holds(others + lamps)
	list := post(t, home, "/v1/recommend", `{"userId": "ann", "filter": {"namedFilters": ["lamps"]}}`)
	if !strings.Contains(string(list), "itemId") {
		t.Errorf("the next list with the rule: %s", list)
	}
	b.looksGood("a kept rule")

	b.do("open as text", click("#kept-rules li:first-child button"))
	b.until("the text of the other", entryText+`.includes('gt: 0') && document.getElementById('rule-text').innerText.includes('gt: 0') &&
		document.getElementById('rule-save').offsetParent === null`)
	b.do("open in the form", click("#kept-rules li:last-child button"))
	b.until("the rule in the form", `document.getElementById('rule-any_categories').value === 'lamp' &&
		document.getElementById('rule-name').value === 'lamps' && document.getElementById('rule-text').hidden`)

	b.do("open a curve", click("#kept-rules li:nth-child(2) button"))
	b.until("the curve", `document.getElementById('rule-weight').value === '0.5' && document.getElementById('rule-scale').value ===
		'60' && document.getElementById('rule-shape').value === 'age' && document.getElementById('rule-kind').value === 'boost'`)
	b.do("back", click("#kept-rules li:last-child button"))
	b.until("the filter again", `document.getElementById('rule-kind').value === 'filter'`)

	must(t, os.WriteFile(file, []byte(others+lamps+"# by hand\n"), 0o600))
	boost := func() {
		b.do("a boost", choose("rule-kind", "boost"), chromedp.Focus(chromedp.CSS("#rule-weight")),
			chromedp.KeyEvent(kb.End), click("#rule-save"))
	}
	boost()
	b.until("the conflict is told", saidText+`.startsWith('Somebody else')`)
	holds(others + lamps + "# by hand\n")
	boost()
	b.until("it is saved", saidText+`.startsWith('Saved') && `+keptNames+` === 'large filter,fresh boost,lamps boost'`)
	holds(others + "lamps: {any_categories: [\"lamp\"], weight: 3}\n# by hand\n")

	b.do("open it", click("#kept-rules li:last-child button"))
	b.until("it is saved as it is", saveText+` === 'Save' && `+saidText+` === ''`)
	again := others + "lamps: {any_categories: [\"lamp\"], weight: 2}\n"
	change := func(text string) {
		t.Helper()
		must(t, os.WriteFile(file, []byte(text), 0o600))
		b.do("away and back", click("#nav-items"), click("#nav-rules"))
	}
	change(again)
	b.until("the change is told", saveText+` === 'Replace lamps' && `+
		saidText+`.startsWith('Somebody else has changed lamps since')`)
	b.do("open it again", click("#kept-rules li:last-child button"))
	b.until("the change is seen", saveText+` === 'Save' && `+saidText+` === '' && `+
		`document.getElementById('rule-weight').value === '2'`)
	b.do("save over it", chromedp.Focus(chromedp.CSS("#rule-weight")), chromedp.KeyEvent(kb.End),
		click("#rule-save"))
	b.until("the own change is none of others", saidText+`.startsWith('Saved') && `+
		saveText+` === 'Save'`)
	b.do("as text", click("#kept-rules li:first-child button"))
	b.until("the text", `document.getElementById('rule-text').innerText.includes('gt: 0')`)
	change(strings.Replace(again, "gt: 0", "gt: 5", 1) + "# by hand\n")
	b.until("the text is new", entryText+`.includes('gt: 5') &&
		document.getElementById('rule-text').innerText.includes('gt: 5')`)
	change(again + "# by hand\n")
	b.until("the text is the first again", entryText+`.includes('gt: 0')`)
	b.do("the form", click("#kept-rules li:last-child button"))

	b.do("a bad name", choose("rule-name", ""), write("#rule-name", "a b"), click("#rule-save"))
	b.until("it is refused", saidText+`.includes('A name has')`)
	b.do("another's name", choose("rule-name", ""), write("#rule-name", "large"))
	b.until("it says what it does", saveText+` === 'Replace large'`)

	b.do("delete", click("#rule-delete summary"), click("#rule-delete button"))
	b.until("it is gone", keptNames+` === 'large filter,fresh boost'`)
	holds(others + "# by hand\n")
	b.do("on a phone", chromedp.EmulateViewport(390, 740))
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("kept rules are %d pixels wide on a phone", wide)
	}
	b.noProblems("409") // what was refused

	token := newToken(t, tokens, "recommend")
	b = open(t, serve(t, "--filters-file", file, "--token-file", tokens), 1100, 900)
	b.do("a token without the role", write("#token", token+kb.Enter), click("#nav-rules"))
	b.until("it is told", `document.querySelector('#rules .card .more').textContent.includes('lacks the role items') &&
		document.getElementById('rule-save').disabled && document.querySelectorAll('#rules .sides').length === 1`)
	b.noProblems("401", "403")
}

const (
	keptNames = `[...document.querySelectorAll('#kept-rules li > span')].map((e) => e.textContent).join()`
	saidText  = `document.getElementById('rule-said').textContent`
	saveText  = `document.getElementById('rule-save').textContent`
	entryText = `document.getElementById('rule-entry').textContent`
	afterIDs  = `[...document.querySelectorAll('#rules .card:first-child .sides > :last-child .id')]
		.map((e) => e.textContent + ' ').join('')`
)
