package coldstart

import (
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/ledger"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/metrics"
)

// Metrics tell about extensions of the model and about the drift.
type Metrics = metrics.Metrics

// NewMetrics makes the metrics of an [Extender].
func NewMetrics() *Metrics { return metrics.New() }

// Notices tells the owners of extensions what one of several servers notices. A nil *Notices
// notices nothing.
type Notices = ledger.Notices

// NoticesDeps are the parts of the server that [Notices] uses.
type NoticesDeps = ledger.NoticesDeps

// NewNotices returns notices for the servers that share a store.
func NewNotices(d NoticesDeps) *Notices { return ledger.NewNotices(d) }
