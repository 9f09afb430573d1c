package origin

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestValid(t *testing.T) {
	for origin, good := range map[string]bool{
		"https://shop.example": true, "http://localhost:3000": true, "http://[::1]:3000": true,
		"": false, "*": false, "shop.example": false, "https://": false, "ftp://shop.example": false,
		"https://shop.example/": false, "https://shop.example/page": false,
		"https://*.example": false, "https://u:p@shop.example": false, "https://shop.example?a": false,
		"null": false, "https://a b": false,
	} {
		if problem := Valid(origin); (problem == "") != good {
			t.Errorf("%q: %q", origin, problem)
		}
	}
}

func TestPolicy(t *testing.T) {
	const shop = "https://shop.example"
	for _, tt := range []struct {
		name         string
		policy       Policy
		method, host string
		header       map[string]string
		called       bool   // the handler behind it
		allowed      string // Access-Control-Allow-Origin
	}{
		{"a program", Policy{}, "POST", "127.0.0.1:80", nil, true, ""},
		{"the own page", Policy{}, "POST", "localhost:80",
			map[string]string{"Origin": "http://localhost:80", "Sec-Fetch-Site": "same-origin"}, true, ""},
		{"a form of another page", Policy{}, "POST", "localhost:80",
			map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, false, ""},
		{"a form in an old browser", Policy{}, "POST", "localhost:80",
			map[string]string{"Origin": "https://evil.example"}, false, ""},
		{"a page without an origin", Policy{}, "DELETE", "localhost:80",
			map[string]string{"Origin": "null"}, false, ""},
		{"reading by another page, which the browser keeps from it", Policy{}, "GET", "localhost:80",
			map[string]string{"Origin": "https://evil.example"}, true, ""},
		{"a name that leads here", Policy{}, "POST", "evil.example:80",
			map[string]string{"Sec-Fetch-Site": "same-origin"}, false, ""},
		{"the own name in another case", Policy{}, "GET", "LocalHost:80", nil, true, ""},
		{"any name, with tokens", Policy{AnyHost: true}, "GET", "api.shop.example", nil, true, ""},
		{"an allowed page", Policy{Origins: []string{shop}}, "POST", "localhost:80",
			map[string]string{"Origin": shop, "Sec-Fetch-Site": "cross-site"}, true, shop},
		{"an allowed name", Policy{Origins: []string{shop}}, "GET", "shop.example", nil, true, ""},
		{"another page beside an allowed one", Policy{Origins: []string{shop}}, "POST", "localhost:80",
			map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, false, ""},
		{"the question beforehand", Policy{Origins: []string{shop}}, "OPTIONS", "localhost:80",
			map[string]string{"Origin": shop, "Access-Control-Request-Method": "DELETE",
				"Access-Control-Request-Headers": "authorization,content-type"}, false, shop},
		{"a bad origin is nobody's, and not everybody's", Policy{Origins: []string{"*"}}, "POST",
			"localhost:80", map[string]string{"Origin": "https://evil.example"}, false, ""},
		{"that of another page", Policy{Origins: []string{shop}}, "OPTIONS", "localhost:80",
			map[string]string{"Origin": "https://evil.example",
				"Access-Control-Request-Method": "DELETE"}, false, ""},
	} {
		called := false
		h := tt.policy.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			called = true
		}))
		r := httptest.NewRequest(tt.method, "/v1/events", nil)
		r.Host = tt.host
		for name, value := range tt.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		check.Same(t, tt.called, called, "%s: status %d: called", tt.name, w.Code)
		check.Same(t, tt.allowed, w.Header().Get("Access-Control-Allow-Origin"),
			"%s: pages that may read the answer", tt.name)
	}
}
