package console

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

// maxPageBytes is what all files of the page may take together.
const maxPageBytes = 300 << 10

// files are the texts of all files of the page.
func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(assets(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(assets(), name)
		all[name] = string(text)
		return err
	})
	check.Must(t, err)
	return all
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "127.0.0.1:9090"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// All files are served as what they are, with a policy that allows nothing else.
func TestFiles(t *testing.T) {
	h := NewHandler(Deps{API: http.NotFoundHandler(), Models: http.NotFoundHandler()})
	types := map[string]string{".html": "text/html; charset=utf-8", ".svg": "image/svg+xml",
		".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
	size := 0
	for name, text := range files(t) {
		size += len(text)
		if name == "index.html" {
			name = ""
		}
		w := get(h, Path+name)
		if w.Code != 200 || w.Body.String() != text {
			t.Errorf("%s: %d, %d bytes of %d", name, w.Code, w.Body.Len(), len(text))
		}
		extension := path.Ext(name)
		if name == "" {
			extension = ".html"
		}
		check.Same(t, types[extension], w.Header().Get("Content-Type"), "%s has the type", name)
		policy := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'",
			"connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'",
			"require-trusted-types-for 'script'"} {
			if !slices.Contains(strings.Split(policy, "; "), want) {
				t.Errorf("%s: the policy lacks %s: %s", name, want, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") ||
			w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: headers %v", name, w.Header())
		}
	}
	if size > maxPageBytes {
		t.Errorf("the page has %d bytes, at most %d are allowed", size, maxPageBytes)
	}
	check.Same(t, 404, get(h, Path+"nothing.js").Code, "a file that is not there")
}

// No text becomes code or markup, and nothing comes from elsewhere. The browser would refuse what
// this finds, and a part of the page would be dead.
func TestNothingInline(t *testing.T) {
	bad := map[string]*regexp.Regexp{
		"an inline handler": regexp.MustCompile(`(?i)<[^>]*\son[a-z]+\s*=`),
		"an inline style":   regexp.MustCompile(`(?i)<[^>]*\sstyle\s*=|<style|"style"|cssText`),
		"an inline script":  regexp.MustCompile(`(?i)<script(?:\s+(?:type="module"|src="[^"]*"))*\s*>[^<]`),
		"markup from text": regexp.MustCompile(
			`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:`),
		"a foreign address": regexp.MustCompile(`(?i)(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}`),
		"a kept token":      regexp.MustCompile(`localStorage|sessionStorage|document\.cookie|indexedDB`),
	}
	names := strings.NewReplacer("http://www.w3.org/2000/svg", "") // of a language, not loaded
	for name, text := range files(t) {
		for what, pattern := range bad {
			check.Same(t, "", pattern.FindString(names.Replace(text)), "%s has %s", name, what)
		}
	}
	for what, text := range map[string]string{"an inline handler": `<p onclick="x()">`,
		"an inline style": `<p style="x">`, "an inline script": `<script type="module">x`,
		"markup from text": `e.innerHTML = x`, "a foreign address": `src="//cdn.example.com/x.js"`,
		"a kept token": `localStorage.token`} {
		if !bad[what].MatchString(text) {
			t.Errorf("%s would not be found", what)
		}
	}
}

var (
	aCall    = regexp.MustCompile("(?s)\\b(?:call|request)\\(\\s*\"([A-Z]+)\",\\s*[\"`]([^\"`?]+)")
	aPart    = regexp.MustCompile(`\$\{[^}]*\}`)
	aPathArg = regexp.MustCompile(`\{[^}]*\}`)
)

// Every call of the page is one of the API.
func TestCallsExist(t *testing.T) {
	text := check.Get(os.ReadFile("../httpjson/openapi.json"))(t)
	var api struct {
		Paths map[string]map[string]any
	}
	check.Must(t, json.Unmarshal(text, &api))
	has := map[string]bool{"GET /openapi.json": true, "GET /metrics": true, "GET /console/past": true,
		"GET /console/models": true}
	for p, methods := range api.Paths {
		for m := range methods {
			has[strings.ToUpper(m)+" "+aPathArg.ReplaceAllString(p, "{}")] = true
		}
	}
	calls := 0
	for name, text := range files(t) {
		for _, found := range aCall.FindAllStringSubmatch(text, -1) {
			calls++
			if call := found[1] + " " + aPart.ReplaceAllString(found[2], "{}"); !has[call] {
				t.Errorf("%s calls %s, which is not in openapi.json", name, call)
			}
		}
		if n := strings.Count(text, "/v1/"); n != len(aCall.FindAllString(text, -1)) &&
			name != "api.js" {
			t.Errorf("%s has paths of the API, which belong into api.js", name)
		}
	}
	if calls < 8 {
		t.Errorf("%d calls found: the pattern misses them", calls)
	}
}
