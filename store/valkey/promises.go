package valkey

import (
	"fmt"
	"strings"

	"github.com/gsimc/gsimc/store"
)

// Promises implements store.Shared.
func (s *Store) Promises() []store.Promise {
	durable, settings := !s.options.NotDurable, "checked when the store was opened"
	of := func(kept string) string {
		if durable {
			return kept
		}
		return "no: opened as not durable"
	}
	switch {
	case !durable:
		settings = "not looked at"
	case s.unknown != nil:
		settings = "checked, but for " + strings.Join(s.unknown, " and ") + ", which are trusted"
	}
	return []store.Promise{
		{Name: "an acknowledged event is in memory of",
			Kept: of("the primary and all replicas linked to it, at least one")},
		{Name: "acknowledged events survive the end of one process or machine",
			Kept: of("yes, if it starts again after a replica has taken over")},
		{Name: "acknowledged events survive two at once",
			Kept: of(fmt.Sprintf("while each primary has two linked replicas; wanted are %d",
				s.options.Replicas))},
		{Name: "acknowledged events survive a loss of power everywhere",
			Kept: of("but for those of the last two seconds")},
		{Name: "an event id is applied once, and histories have no gaps", Kept: "yes"},
		{Name: "an acknowledged event is seen by the next read of every server",
			Kept: "yes, but a primary that was cut off answers for up to the node timeout"},
		{Name: "what a reader has seen is never taken back",
			Kept: "no: a primary shows events before its replicas have them"},
		{Name: "a history that has become another one is noticed", Kept: "yes, by the marks"},
		{Name: "a call over several users is atomic", Kept: "for each user"},
		{Name: "all users can be read as of one moment", Kept: "no"},
		{Name: "erased bytes leave the disk",
			Kept: "when the append-only files of all nodes have been rewritten"},
		{Name: "catalogue, leases and notes", Kept: "in one slot each, on one primary"},
		{Name: "settings of the cluster", Kept: settings},
	}
}
