package doors

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/internal/test/issuertest"
)

// Any text is a file of tokens or refused.
func FuzzTokenFile(f *testing.F) {
	f.Add("a recommend jwt https://a b c=d user=sub calls=3 new-users=1\n# b\n\n")
	f.Add("a recommend,observe " + strings.Repeat("0f", 32) + " calls=2 new-users=4")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "keys=") { // it may name any file
			t.Skip()
		}
		_, _ = parseTokenFile([]byte(text), newIssuers(time.Now, slog.New(slog.DiscardHandler),
			func(bool) {}))
	})
}

// Any text is a document of keys or refused.
func FuzzKeys(f *testing.F) {
	f.Add(check.Get(json.Marshal(issuertest.New(f).Document()))(f))
	f.Add([]byte(`{"keys":[{"kty":"RSA","e":"AQAB","n":"yiXr"},{"kty":"OKP","crv":"Ed25519"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if set, err := parseKeys(text); err == nil && len(set.keys) > maxKeys {
			t.Errorf("%d keys", len(set.keys))
		}
	})
}

// No text but the one that the issuer signed is a token.
func FuzzSignedTokens(f *testing.F) {
	i := issuertest.New(f)
	d, _ := openSigned(f, i, "shop recommend jwt ISSUER gsimc\n")
	good := i.Sign(f, claims(i, nil))
	signed := good[:strings.LastIndex(good, ".")]
	f.Add(good)
	f.Add(good[:len(good)-4])
	f.Add("e30.e30.e30")
	f.Fuzz(func(t *testing.T, token string) {
		err := d.Check(bearerOf(token), "/a/Recommend")
		if err == nil && !strings.HasPrefix(token, signed+".") {
			t.Errorf("%q counts", token)
		}
	})
}
