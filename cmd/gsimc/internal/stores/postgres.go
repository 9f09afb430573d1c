package stores

import (
	"context"

	"github.com/gsimc/gsimc/store"
	"github.com/gsimc/gsimc/store/postgres"
)

func checkPostgres(text string) error { return postgres.CheckAddress(text) }

func openPostgres(ctx context.Context, text string, s *Settings) (store.Store, error) {
	st, err := postgres.Open(ctx, text)
	if err != nil {
		return nil, err
	}
	if !st.Strict() {
		s.Log.Warn("profile=development: acknowledged events may be lost with one machine")
	}
	return st, nil
}
