package doors

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/time/rate"
)

// algorithms are the signatures that count: those with a public key, which an issuer can publish.
var algorithms = []jose.SignatureAlgorithm{
	jose.EdDSA, jose.ES256, jose.ES384, jose.ES512,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

// leeway is how far the clocks of an issuer and of a server may be apart.
const leeway = 30 * time.Second

// maxUserBytes is that of user ids in the protocol.
const maxUserBytes = 256

// A signedLine is a line of the file about tokens that an issuer signs. The first line that a token
// meets counts.
type signedLine struct {
	caller    // of its tokens, without subject, user and end
	issuer    *issuer
	audience  string
	keys      string // where those of the issuer are; empty: its configuration says
	claims    []claim
	userClaim string // has the only user whom calls may be about; empty: they may be about any
}

// A claim is what a token has to say.
type claim struct{ name, value string }

// bySignature returns who shows a signed token. A token is verified once: the answer is remembered
// until the keys of its issuer change. Tokens that do not count are not remembered.
func (t *tokens) bySignature(
	token string, hash [sha256.Size]byte, now time.Time,
) (*caller, error) {
	who := t.verified.get(hash)
	if who == nil {
		var err error
		if who, err = t.verify(token, now); err != nil {
			return nil, err
		}
		t.verified.put(hash, who)
	}
	if now.After(who.until) {
		return nil, t.refuse(now, ErrEnded, who.by, whyEnded)
	}
	return &who.caller, nil
}

const whyEnded = "its time is over (exp)"

// refuse returns the error of a token that does not count. The caller learns no more than that
// from it, so the log says why, for those who set up the issuer: once a second for each reason and
// issuer, as everybody can send tokens. by is nil if the issuer is in no line.
func (t *tokens) refuse(
	now time.Time, err error, by *issuer, why string, detail ...slog.Attr,
) error {
	attrs := []slog.Attr{slog.String("why", why)}
	if by != nil {
		attrs = append(attrs, slog.String("issuer", by.name))
	}
	told, _ := t.told.LoadOrStore(refusal{by, why}, rate.NewLimiter(1, 1))
	if told.(*rate.Limiter).AllowN(now, 1) {
		t.log.LogAttrs(context.Background(), slog.LevelWarn, "token refused",
			append(attrs, detail...)...)
	}
	return err
}

// refusal is what one line of the log in a second is about.
type refusal struct {
	by  *issuer
	why string
}

// verify returns who shows a token: its signature is right, its time is not over, and it meets a
// line.
func (t *tokens) verify(token string, now time.Time) (*verifiedCaller, error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, t.refuse(now, ErrUnauthenticated, nil, "its hash is in no line, and it is no "+
			"JWT with a signature by a public key")
	}
	by := t.issuerOf(parsed)
	if by == nil {
		return nil, t.refuse(now, ErrUnauthenticated, nil, "its issuer is in no line (iss)")
	}
	under := by.keys.Load()
	keys := under.of(parsed.Headers[0])
	if !slices.ContainsFunc(keys, func(k jose.JSONWebKey) bool { return parsed.Claims(k) == nil }) {
		if len(keys) > 0 && parsed.Headers[0].KeyID != "" {
			return nil, t.refuse(now, ErrUnauthenticated, by, "its signature is wrong")
		}
		if by.awaitsKey(now) {
			return nil, ErrKeys
		}
		return nil, t.refuse(now, ErrUnauthenticated, by, "no key of its issuer signed it")
	}
	claims, all := jwt.Claims{}, map[string]any{}
	if parsed.UnsafeClaimsWithoutVerification(&claims, &all) != nil || claims.Expiry == nil {
		return nil, t.refuse(now, ErrUnauthenticated, by, "it has no exp, or sub, aud, exp, nbf, "+
			"iat or jti is of a wrong kind")
	}
	switch claims.ValidateWithLeeway(jwt.Expected{Time: now}, leeway) {
	case nil:
	case jwt.ErrExpired:
		return nil, t.refuse(now, ErrEnded, by, whyEnded)
	default:
		return nil, t.refuse(now, ErrUnauthenticated, by, "its time has not begun (nbf, iat)")
	}
	return t.lineOf(by, under, claims, all, now)
}

// lineOf returns who shows a verified token, by the first line that it meets.
func (t *tokens) lineOf(
	by *issuer, under *keySet, claims jwt.Claims, all map[string]any, now time.Time,
) (*verifiedCaller, error) {
	var unmet []string
	for _, l := range t.signed {
		if l.issuer != by || !claims.Audience.Contains(l.audience) {
			continue
		}
		who, claim := l.meets(claims, all)
		if who != nil {
			return &verifiedCaller{*who, by, under}, nil
		}
		unmet = append(unmet, l.name+": "+claim)
	}
	if unmet == nil {
		return nil, t.refuse(now, ErrNoLine, by, "no line of its issuer has its audience (aud)")
	}
	return nil, t.refuse(now, ErrNoLine, by, "a claim is not what the lines with its audience want",
		slog.Any("lines", unmet))
}

// issuerOf returns the issuer that a token names, before anything in it is believed; nil: no line
// is about it.
func (t *tokens) issuerOf(token *jwt.JSONWebToken) *issuer {
	var claims struct {
		Issuer string `json:"iss"`
	}
	if token.UnsafeClaimsWithoutVerification(&claims) != nil {
		return nil
	}
	for _, l := range t.signed {
		if l.issuer.name == claims.Issuer {
			return l.issuer
		}
	}
	return nil
}

// meets returns who shows a verified token of the line's audience, or the name of a claim by which
// it does not meet the line.
func (l *signedLine) meets(claims jwt.Claims, all map[string]any) (_ *caller, unmet string) {
	for _, want := range l.claims {
		if !says(all, want) {
			return nil, want.name
		}
	}
	who := l.caller
	who.subject, who.until = claims.Subject, claims.Expiry.Time().Add(leeway)
	if l.userClaim != "" {
		user := textOf(valueOf(all, l.userClaim))
		if user == "" || len(user) > maxUserBytes {
			return nil, l.userClaim
		}
		who.user = user
	}
	return &who, ""
}

// takes reports whether l is met by each token that meets another line of its issuer, so that the
// other one never counts if it stands behind l.
func (l *signedLine) takes(other *signedLine) bool {
	lacks := func(c claim) bool { return !slices.Contains(other.claims, c) }
	return l.audience == other.audience && !slices.ContainsFunc(l.claims, lacks) &&
		(l.userClaim == "" || l.userClaim == other.userClaim)
}

// says reports whether the claims of a token have one with a value: the text itself, a whole
// number, a truth value, one of a list, or a word of the claim scope (RFC 8693) or scp.
func says(claims map[string]any, want claim) bool {
	switch value := valueOf(claims, want.name).(type) {
	case bool:
		return value && want.value == "true" || !value && want.value == "false"
	case []any:
		return slices.ContainsFunc(value, func(v any) bool { return textOf(v) == want.value })
	default:
		text := textOf(value)
		return text == want.value || (want.name == "scope" || want.name == "scp") &&
			slices.Contains(strings.Fields(text), want.value)
	}
}

// textOf returns a claim that is a text, or the decimal digits of one that is a whole number. They
// are empty for anything else, and for numbers so large that two of them are read as one.
func textOf(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
			return strconv.FormatInt(int64(value), 10)
		}
	}
	return ""
}

// valueOf returns the claim of a name, or by the path that its dots make: realm_access.roles is
// roles in the object realm_access. Nil: there is none.
func valueOf(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	outer, inner, _ := strings.Cut(name, ".")
	if object, ok := claims[outer].(map[string]any); ok {
		return valueOf(object, inner)
	}
	return nil
}

// maxVerified bounds a generation of verified tokens, of which there are two.
const maxVerified = 10_000

// A verifiedCaller is who shows a token whose signature is right by keys of its issuer.
type verifiedCaller struct {
	caller
	by    *issuer
	under *keySet
}

// verified has the tokens whose signatures were right, by their hashes. The zero value has none.
type verified struct {
	mu           sync.RWMutex
	newer, older map[[sha256.Size]byte]*verifiedCaller
}

// get returns who shows a token; nil: it is not known, or the keys of its issuer have changed.
func (v *verified) get(hash [sha256.Size]byte) *verifiedCaller {
	v.mu.RLock()
	who, fresh := v.newer[hash]
	if !fresh {
		who = v.older[hash]
	}
	v.mu.RUnlock()
	if who == nil || who.under != who.by.keys.Load() {
		return nil
	}
	if !fresh {
		v.put(hash, who)
	}
	return who
}

func (v *verified) put(hash [sha256.Size]byte, who *verifiedCaller) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.newer[hash] == nil && (v.newer == nil || len(v.newer) >= maxVerified) {
		v.newer, v.older = map[[sha256.Size]byte]*verifiedCaller{}, v.newer
	}
	v.newer[hash] = who
}
