package server

import (
	"time"

	"github.com/gsimc/gsimc/server/internal/admission"
	"github.com/gsimc/gsimc/server/internal/ingest"
	"github.com/gsimc/gsimc/server/internal/operate"
	"github.com/gsimc/gsimc/server/internal/retention"
	"github.com/gsimc/gsimc/server/internal/users"
)

// bounds are limits that are not worth a setting, of what calls share; tests have smaller ones.
type bounds struct {
	users     users.Bounds
	operate   operate.Bounds
	readAhead *admission.Budget // bytes of events, of all streams

	sendTimeout   time.Duration // see [admission.Bounds]
	maxUnreadSize int           // the same
	maxBodies     int           // see [admission.Config]
	opsWrite      time.Duration // for a page of the ops listener to be read
	retentionWake time.Duration // see [retention.Deps]
}

func usualBounds(cfg *Config) bounds {
	return bounds{users: users.Usual(), operate: operate.Usual(),
		readAhead: admission.NewBudget(ingest.MaxReadAhead), sendTimeout: sendTimeout,
		maxUnreadSize: maxUnreadSize, opsWrite: opsWriteTimeout, retentionWake: retention.Wake,
		maxBodies: max(maxBodies, 2*cfg.MaxRecvBytes)}
}
