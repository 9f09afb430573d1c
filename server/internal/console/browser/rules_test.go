package consoletest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
	b.until("it is told", `document.querySelector('#rules [role=status]').textContent.includes('From must be a number')`)
	b.do("on a phone", chromedp.EmulateViewport(390, 740))
	if wide := eval[int](b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("rules are %d pixels wide on a phone", wide)
	}
	b.noProblems()

	file := filepath.Join(t.TempDir(), "filters.yaml")
	if err := os.WriteFile(file, []byte(boost+"\n\"only\""+filter[len(`"new_rule"`):]+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
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
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, item := range list.Items {
			got += item.ItemID + " "
		}
		if got != want {
			t.Errorf("%s from the file lists %s, the page %s", rule, got, want)
		}
	}
}

const (
	entryText = `document.getElementById('rule-entry').textContent`
	afterIDs  = `[...document.querySelectorAll('#rules .card:first-child .sides > :last-child .id')]
		.map((e) => e.textContent + ' ').join('')`
)
