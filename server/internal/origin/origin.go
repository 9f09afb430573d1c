// Package origin keeps pages of other web sites from calling a server by the browsers of those who
// visit them.
//
// A browser sends what a foreign page asks for, and tells where the page is from. Two ways lead
// around that: a request that a form could send needs no question beforehand, so it is refused by
// its origin; and a foreign name may be made to lead to this machine, so that the browser takes the
// page for the server's own, so hosts are compared with the names that the server has.
package origin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"
)

// Policy says which pages may call. The zero value lets only the server's own do so, opened by
// localhost or an address.
type Policy struct {
	// Origins are those of further pages, such as https://shop.example. One that is not [Valid] is
	// nobody's.
	Origins []string
	// AnyHost lets requests name the server as they like: callers prove who they are otherwise.
	AnyHost bool
	// Refuse answers a request that is refused, with status 403. Nil: in plain text.
	Refuse func(w http.ResponseWriter, problem string)
}

// Valid returns what is wrong with an origin, or nothing.
func Valid(origin string) (problem string) {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		origin != u.Scheme+"://"+u.Host || strings.Contains(u.Host, "*") {
		return "is not an origin such as https://shop.example: scheme, host and port, and no path"
	}
	return ""
}

// preflightSeconds is how long a browser need not ask again.
const preflightSeconds = 600

// Handler guards h.
func (p Policy) Handler(h http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(p.refusal("a page of another web site asks, and the server does " +
		"not know it"))
	var origins, hosts []string
	for _, o := range p.Origins {
		if Valid(o) == "" && protection.AddTrustedOrigin(o) == nil {
			_, host, _ := strings.Cut(o, "://")
			origins, hosts = append(origins, o), append(hosts, host)
		}
	}
	h = protection.Handler(h)
	if len(origins) > 0 { // cors takes none for all
		h = cors.New(cors.Options{
			AllowedOrigins: origins,
			AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "Grpc-Timeout",
				"X-Request-Id"},
			ExposedHeaders: []string{"Retry-After", "X-Request-Id"},
			MaxAge:         preflightSeconds,
		}).Handler(h)
	}
	if p.AnyHost {
		return h
	}
	return p.ownHost(h, hosts)
}

// refusal is the handler of requests with a problem.
func (p Policy) refusal(problem string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.Refuse != nil {
			p.Refuse(w, problem)
			return
		}
		http.Error(w, problem, http.StatusForbidden)
	})
}

// ownHost refuses requests whose host is a name that somebody else may have chosen.
func (p Policy) ownHost(h http.Handler, hosts []string) http.Handler {
	foreign := p.refusal("this host name is not one of the server's, which are localhost and IP " +
		"addresses")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAddress(r.Host) && !slices.Contains(hosts, r.Host) {
			foreign.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// isAddress reports whether the host of a request is localhost or an address.
func isAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil
}
