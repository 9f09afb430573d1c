package doors

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// When keys are read.
const (
	keysEvery   = 5 * time.Minute  // again, though nobody asks
	keysSoonest = 10 * time.Second // again, for a token with a key that is not there, or a failure
	keysTimeout = 10 * time.Second // for one reading
)

// issuers are those of the file of tokens, and of the files before. They keep their keys when the
// file changes.
type issuers struct {
	now  func() time.Time
	log  *slog.Logger
	read func(good bool) // counts

	mu  sync.Mutex
	all map[[2]string]*issuer // by name and place of keys
}

func newIssuers(now func() time.Time, log *slog.Logger, read func(bool)) *issuers {
	return &issuers{now: now, log: log, read: read, all: map[[2]string]*issuer{}}
}

// An issuer signs tokens.
type issuer struct {
	name   string // the claim iss of its tokens
	place  string // of its keys: a URL or a file; empty: its configuration says (OpenID Connect)
	client *http.Client
	keys   atomic.Pointer[keySet]

	mu      sync.Mutex
	reading bool
	wanted  bool      // a token has a key that is not there
	failed  bool      // the last reading did
	last    time.Time // when the last reading began
	asked   time.Time // when the last one for the sake of a token did
}

// of returns the issuer of a name whose keys are at a place. A file is read now, and has to be
// good; a URL is read later, as an issuer that is away must not keep a server from its start. The
// error completes "the line has", and shows neither.
func (all *issuers) of(name, place string) (*issuer, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if i := all.all[[2]string{name, place}]; i != nil {
		return i, nil
	}
	i := &issuer{name: name, place: place}
	i.client = &http.Client{Timeout: keysTimeout, CheckRedirect: i.redirect}
	i.keys.Store(&keySet{})
	switch {
	case i.ofFile():
		set, err := i.readKeys(context.Background())
		if err == nil && len(set.keys) == 0 {
			err = errors.New("no public key for signatures")
		}
		if err != nil {
			return nil, fmt.Errorf("a file of keys that is not good (%w)", err)
		}
		i.keys.Store(set)
		i.last = all.now()
	case place == "" && !i.mayRead(name):
		return nil, errors.New("an issuer that is " + unsafeURL)
	case place != "" && !i.mayRead(place):
		return nil, errors.New("a place of keys that is " + unsafeURL)
	}
	all.all[[2]string{name, place}] = i
	return i, nil
}

// keep forgets the issuers that no line is about.
func (all *issuers) keep(lines []*signedLine) {
	all.mu.Lock()
	defer all.mu.Unlock()
	clear(all.all)
	for _, l := range lines {
		all.all[[2]string{l.issuer.name, l.issuer.place}] = l.issuer
	}
}

// ofFile reports whether the keys of an issuer are in a file.
func (i *issuer) ofFile() bool { return i.place != "" && !strings.Contains(i.place, "://") }

const unsafeURL = "no https:// URL, nor an http:// one of this machine"

// mayRead reports whether nobody on the way can change what a URL answers: it is one of HTTPS. An
// issuer of this machine may have others of this machine, but none elsewhere may lead here.
func (i *issuer) mayRead(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	from, err := url.Parse(cmp.Or(i.place, i.name))
	return u.Scheme == "https" || u.Scheme == "http" && here(u) && err == nil && here(from)
}

// here reports whether a URL leads to this machine.
func here(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// redirect follows a few redirects, to what may be read.
func (i *issuer) redirect(r *http.Request, before []*http.Request) error {
	if len(before) > 3 || !i.mayRead(r.URL.String()) {
		return http.ErrUseLastResponse
	}
	return nil
}

// watchIssuers reads the keys of the issuers of the file when they are due, until ctx ends. It
// tells of signed tokens at each interval: some may have ended, or have keys that are there no
// more.
func (d *Doors) watchIssuers(ctx context.Context, every time.Duration) {
	if d.tokens == nil {
		return
	}
	var readings sync.WaitGroup
	defer readings.Wait()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		signed := d.tokens.Get().signed
		for _, l := range signed {
			if l.issuer.begin(d.now()) {
				readings.Go(func() { d.issuers.reread(ctx, l.issuer) })
			}
		}
		if len(signed) > 0 && d.OnTokens != nil {
			d.OnTokens()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// begin reports whether a reading is due, which then begins.
func (i *issuer) begin(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	wait := keysEvery
	if i.failed || i.ofFile() {
		wait = keysSoonest
	}
	wanted := i.wanted && now.Sub(i.asked) >= keysSoonest
	if i.reading || !wanted && !i.last.IsZero() && now.Sub(i.last) < wait {
		return false
	}
	if wanted {
		i.asked = now
	}
	i.reading, i.wanted, i.last = true, false, now
	return true
}

// reread reads the keys of an issuer. Those from before stay if that fails.
func (all *issuers) reread(ctx context.Context, i *issuer) {
	set, err := i.readKeys(ctx)
	if ctx.Err() != nil {
		return
	}
	i.mu.Lock()
	changed := err == nil && !bytes.Equal(set.text, i.keys.Load().text)
	if changed {
		i.keys.Store(set)
	}
	news, left := err != nil && !i.failed, len(i.keys.Load().keys)
	i.reading, i.failed = false, err != nil
	i.mu.Unlock()
	all.read(err == nil)
	issuer := slog.String("issuer", i.name)
	switch {
	case news:
		stay := "those from before stay"
		if left == 0 {
			stay = "its tokens do not count yet"
		}
		all.log.LogAttrs(ctx, slog.LevelWarn, "keys of an issuer cannot be read: "+stay, issuer,
			slog.Int("keys", left), slog.String("error", fmt.Sprint(err)))
	case changed && len(set.keys) == 0:
		all.log.LogAttrs(ctx, slog.LevelWarn, "an issuer has no keys", issuer)
	case changed:
		all.log.LogAttrs(ctx, slog.LevelInfo, "keys of an issuer read", issuer,
			slog.Int("keys", len(set.keys)))
	}
}

// awaitsKey reports whether the key of a token that is not there may come: the issuer may have a
// new one, so the keys are read again for it, but not for each such token.
func (i *issuer) awaitsKey(now time.Time) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.wanted || i.failed || i.last.IsZero():
	case now.Sub(i.asked) >= keysSoonest:
		i.wanted = true
	case !i.reading:
		return false
	}
	return true
}
