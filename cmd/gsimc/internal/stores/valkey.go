package stores

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/valkey"
)

// parameter is what may stand behind the question mark of a URL.
type parameter struct {
	want string                               // what it takes
	set  func(u *valkeyURL, text string) bool // false: it does not take the text
}

// valkeyURL is what the text of the flag says of a cluster.
type valkeyURL struct {
	options              valkey.Options
	passwordFile         string
	secure               bool
	authority, cert, key string
	serverName           string
}

var valkeyParameters = map[string]parameter{
	"user": {"the name of an ACL user",
		text(func(u *valkeyURL) *string { return &u.options.Username })},
	"password-file": {"a file with the password",
		text(func(u *valkeyURL) *string { return &u.passwordFile })},
	"tls": {"on or off", func(u *valkeyURL, text string) bool {
		u.secure = text == "on"
		return text == "on" || text == "off"
	}},
	"tls-ca": {"a file of authorities, PEM",
		text(func(u *valkeyURL) *string { return &u.authority })},
	"tls-cert": {"a file with a certificate, PEM",
		text(func(u *valkeyURL) *string { return &u.cert })},
	"tls-key": {"a file with its key, PEM",
		text(func(u *valkeyURL) *string { return &u.key })},
	"tls-server-name": {"the name in the certificates of the nodes",
		text(func(u *valkeyURL) *string { return &u.serverName })},
	"replicas": {"a number from 1 on", func(u *valkeyURL, text string) bool {
		return number(text, &u.options.Replicas)
	}},
	"room": {"a number from 1 on", func(u *valkeyURL, text string) bool {
		return number(text, &u.options.Room)
	}},
	"durability": {"replicas or none", func(u *valkeyURL, text string) bool {
		u.options.NotDurable = text == "none"
		return text == "replicas" || text == "none"
	}},
	"settings": {"checked or trusted", func(u *valkeyURL, text string) bool {
		u.options.TrustSettings = text == "trusted"
		return text == "checked" || text == "trusted"
	}},
}

// text sets a field to any text but none.
func text(field func(*valkeyURL) *string) func(*valkeyURL, string) bool {
	return func(u *valkeyURL, text string) bool {
		*field(u) = text
		return text != ""
	}
}

func number(text string, to *int) bool {
	n, err := strconv.Atoi(text)
	*to = n
	return err == nil && n > 0
}

// parseValkey reads valkey://HOST:PORT,HOST:PORT/NAMESPACE?NAME=VALUE&….
func parseValkey(text string) (*valkeyURL, error) {
	_, rest, _ := strings.Cut(text, "://")
	rest, query, _ := strings.Cut(rest, "?")
	hosts, namespace, _ := strings.Cut(rest, "/")
	if strings.Contains(hosts, "@") {
		return nil, fmt.Errorf("a name or password before @, which all who see the processes "+
			"would see: give the name with user=NAME, and the password with password-file=FILE or "+
			"the environment variable %s", PasswordVariable)
	}
	if namespace == "" {
		return nil, fmt.Errorf("no namespace, with which the names of all keys begin: want "+
			"valkey://%s/NAMESPACE", hosts)
	}
	u := &valkeyURL{options: valkey.Options{Addrs: strings.Split(hosts, ","),
		Namespace: namespace}}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the parameters after ?: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p, known := valkeyParameters[name]
		if !known {
			return nil, fmt.Errorf("the parameter %q, want some of %s", name,
				strings.Join(slices.Sorted(maps.Keys(valkeyParameters)), ", "))
		}
		if len(values[name]) != 1 || !p.set(u, values[name][0]) {
			return nil, fmt.Errorf("%s=%s, want %s", name,
				strings.Join(values[name], ","), p.want)
		}
	}
	if !u.secure && (u.authority != "" || u.cert != "" || u.key != "" || u.serverName != "") {
		return nil, fmt.Errorf("files for TLS without tls=on")
	}
	if (u.cert == "") != (u.key == "") {
		return nil, fmt.Errorf("want both tls-cert and tls-key, or none")
	}
	return u, u.options.Validate()
}

func checkValkey(text string) error {
	_, err := parseValkey(text)
	return err
}

func openValkey(ctx context.Context, text string, s *Settings) (store.Store, error) {
	u, err := parseValkey(text)
	if err != nil {
		return nil, err
	}
	if err := u.readAtConnect(s.Env); err != nil {
		return nil, err
	}
	if u.options.NotDurable {
		s.Log.Warn("durability=none: acknowledged events may be lost with one process of the store")
	}
	st, err := valkey.Open(ctx, u.options)
	if err != nil {
		return nil, err
	}
	return st, nil
}

// readAtConnect has each new connection read the files that the URL names, so that they may be
// exchanged. An error is of a file that cannot be used now.
func (u *valkeyURL) readAtConnect(env []string) error {
	o := &u.options
	if password, set := cli.Variable(env, PasswordVariable); set {
		o.Password = func() (string, error) { return password, nil }
	}
	if u.passwordFile != "" {
		o.Password = func() (string, error) {
			password, err := os.ReadFile(u.passwordFile)
			if err != nil {
				return "", fmt.Errorf("password-file: %w", cli.PathError(err))
			}
			return strings.TrimRight(string(password), "\r\n"), nil
		}
		if _, err := o.Password(); err != nil {
			return err
		}
	}
	if !u.secure {
		return nil
	}
	o.TLS = u.tls
	_, err := o.TLS()
	return err
}

// tls returns the configuration of a connection.
func (u *valkeyURL) tls() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.serverName}
	if u.authority != "" {
		pem, err := os.ReadFile(u.authority)
		if err != nil {
			return nil, fmt.Errorf("tls-ca: %w", cli.PathError(err))
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls-ca: %s: no certificate in it", u.authority)
		}
	}
	if u.cert != "" {
		pair, err := tls.LoadX509KeyPair(u.cert, u.key)
		if err != nil {
			return nil, fmt.Errorf("tls-cert: %w", cli.PathError(err))
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
