// Package console serves a page for people that shows the service at work, and is a client of it
// like any other: it calls the methods of clients as JSON, by the same paths, roles and tokens, and
// reads the metrics of the listener that it stands on, with what the server remembers of them.
//
// The page is plain HTML, CSS and JavaScript modules, embedded as they are, without a build step.
// Nothing is loaded from elsewhere, and the policy of the page forbids it: no scripts and styles
// but those files, no frames around it, no text that becomes code. A token that the user pastes
// stays in the memory of the page.
//
// A browser carries requests of any page to a loopback address, so the handler refuses those that
// pages of other origins cause, and those that name a host that is neither an address nor
// localhost: such a name may belong to somebody who points it here (DNS rebinding).
package console

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

// Path is the path of the page.
const Path = "/console/"

// Paths are the patterns that the handler answers: the page, and what it calls.
func Paths() []string { return []string{Path, "/v1/", "/openapi.json"} }

//go:embed assets
var embedded embed.FS

// assets are the files of the page.
func assets() fs.FS {
	sub, err := fs.Sub(embedded, "assets")
	if err != nil { // the name is that of the directive
		panic(err)
	}
	return sub
}

// headers are those of each answer that is not of the API.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; " +
		"img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"Cache-Control":                "no-cache",
}

// Deps answer what the page asks for.
type Deps struct {
	API    http.Handler // the calls of clients
	Past   *Past        // how the metrics were
	Models http.Handler // the models that serve, as AdminService lists them
}

// NewHandler returns the handler of [Paths]. It does not keep the pages of others out. The past and
// the models need no token, as the metrics beside them.
func NewHandler(d Deps) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Path+"past", withHeaders(d.Past))
	mux.Handle("GET "+Path+"models", withHeaders(d.Models))
	mux.Handle("GET "+Path, withHeaders(http.StripPrefix(strings.TrimSuffix(Path, "/"),
		http.FileServerFS(assets()))))
	mux.Handle("/", d.API)
	return mux
}

func withHeaders(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		h.ServeHTTP(w, r)
	})
}
