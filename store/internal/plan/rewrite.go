package plan

import (
	"fmt"

	"github.com/gsimc/gsimc/store"
)

// CheckUsers checks the users of a Rewrite. Its error wraps [store.ErrInvalid].
func CheckUsers(users []string) error {
	seen := make(map[string]bool, len(users))
	for i, user := range users {
		switch {
		case user == "" || len(user) > store.MaxIDBytes:
			return fmt.Errorf("%w: user %d has %d bytes, want 1 to %d", store.ErrInvalid, i,
				len(user), store.MaxIDBytes)
		case seen[user]:
			return fmt.Errorf("%w: user %d is named twice", store.ErrInvalid, i)
		}
		seen[user] = true
	}
	return nil
}

// CheckRewritten checks the histories that a Rewrite has made for its users. Its error wraps
// [store.ErrInvalid].
func CheckRewritten(users []string, histories [][]store.Event) error {
	if len(histories) != len(users) {
		return fmt.Errorf("%w: %d histories for %d users", store.ErrInvalid, len(histories),
			len(users))
	}
	for i, events := range histories {
		ids := make(map[string]bool, len(events))
		for j := range events {
			e := &events[j]
			if err := (store.Record{User: users[i], Event: *e}).Validate(); err != nil {
				return fmt.Errorf("history %d, event %d: %w", i, j, err)
			}
			if ids[e.ID] {
				return fmt.Errorf("%w: history %d, event %d: its id stands there twice",
					store.ErrInvalid, i, j)
			}
			ids[e.ID] = true
		}
	}
	return nil
}
