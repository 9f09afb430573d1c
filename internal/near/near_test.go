package near

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestIndex(t *testing.T) {
	names := []string{"user_id", "item_id", "event_type", "event_time", "value"}
	for key, want := range map[string]string{
		"userId": "user_id", "usr_id": "user_id", "user": "user_id", "itme_id": "item_id",
		"event-tpye": "event_type", "event": "event_type", "Value ": "value", "amount": "", "": "",
	} {
		got := ""
		if at := Index(key, names); at >= 0 {
			got = names[at]
		}
		check.Same(t, want, got, "what was meant by %q", key)
	}
}
