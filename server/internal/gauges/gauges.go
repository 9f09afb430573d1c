// Package gauges reads what a server is at the moment, at each scrape.
package gauges

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gsimc/gsimc/server/internal/arms"
	"github.com/gsimc/gsimc/server/internal/catalogue"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/server/internal/state"
	"github.com/gsimc/gsimc/store"
)

// Gauges reads the values from the parts of a server.
type Gauges struct {
	States    *state.Cache
	Catalogue *catalogue.Catalogue
	Arms      *arms.Set
	Stats     func(context.Context) (store.Stats, error)
	Build     string // version
	Draining  func() bool
	// ModelBehind returns why a model serves that is not the newest; nil: it is.
	ModelBehind func() error
}

var (
	statesDesc     = newDesc("gsimc_user_states", "User states in the cache.")
	stateBytesDesc = newDesc("gsimc_user_state_bytes", "Memory of the user states in the cache.")
	storeBytesDesc = newDesc("gsimc_store_bytes", "Space that the store uses.")
	storeRoomDesc  = newDesc("gsimc_store_room_bytes",
		"Space on the disk of the store that may be filled before events are refused.")
	storeFreeDesc = newDesc("gsimc_store_disk_free_bytes",
		"Free space on the disk of the store.")
	storeReserveDesc = newDesc("gsimc_store_reserve_bytes",
		"Free space that the store leaves, see --store-reserve.")
	storeDebtDesc = newDesc("gsimc_store_compaction_debt_bytes",
		"Estimate of what compactions have yet to write; it grows while events come in faster "+
			"than the disk sorts them.")
	storeAwayDesc = newDesc("gsimc_store_away",
		"1 while the store, which servers share, cannot be reached; it comes back by itself.")
	storeDegradedDesc = newDesc("gsimc_store_degraded",
		"1 while the store keeps less than it is set up for, such as fewer copies; /readyz says "+
			"why.")
	storeUsersDesc = newDesc("gsimc_store_users",
		"Users with a history; absent if the store cannot tell cheaply, as that on disk.")
	modelInfoDesc = newDesc("gsimc_model_info",
		"The models that serve, as GetStatus describes them, by their arm; version is the "+
			"model_version of answers up to + or ~, filter is empty with learned dynamics, "+
			"trained_at if it is unknown.",
		"arm", "version", "graph", "dynamics", "filter", "trained_at")
	modelItemsDesc = newDesc("gsimc_model_items",
		"Items of the serving model, those that it was extended by included.")
	modelRankDesc = newDesc("gsimc_model_rank", "Rank of the serving model.")
	modelLoadDesc = newDesc("gsimc_model_load_timestamp_seconds",
		"When the serving model was loaded.")
	modelBehindDesc = newDesc("gsimc_model_behind",
		"1 while the newest model file cannot be loaded and an older model serves; /readyz says "+
			"why.")
	modelTrainDesc = newDesc("gsimc_model_train_timestamp_seconds",
		"When the serving model was trained; absent if it does not say.")
	buildInfoDesc   = newDesc("gsimc_build_info", "The server binary.", "version")
	storeFailedDesc = newDesc("gsimc_store_failed",
		"1 when the store takes no more writes until a restart.")
	storeRefusingDesc = newDesc("gsimc_store_refusing",
		"1 while the store takes no writes for a reason that passes: no room, or a hanging disk.")
	storeStalledDesc = newDesc("gsimc_store_stalled",
		"1 while the disk of the store hangs: no write has become durable for 10 s.")
	storeDamagedFilesDesc = newDesc("gsimc_store_damaged_files",
		"Files of the store that are known to be damaged. Run gsimc verify.")
	storeDamagedReadsDesc = newDesc("gsimc_store_damaged_reads",
		"How often a damaged block of the store has been read since the start.")
	itemsDesc     = newDesc("gsimc_catalogue_items", "Items of the catalogue.")
	itemBytesDesc = newDesc("gsimc_catalogue_bytes", "Memory of the catalogue, about.")
	itemLimitDesc = newDesc("gsimc_catalogue_limit_bytes",
		"Memory that the catalogue may take: items that would add to more are refused.")
	damagedItemsDesc = newDesc("gsimc_catalogue_damaged_items",
		"Items of the catalogue that cannot be read, and are not shown. Write or delete them.")
	drainingDesc = newDesc("gsimc_draining", "1 while the server shuts down.")
)

// descs are those above.
var descs []*prometheus.Desc

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc(name, help, labels, nil)
	descs = append(descs, d)
	return d
}

// Describe implements [prometheus.Collector].
func (g Gauges) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector].
func (g Gauges) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(statesDesc, float64(g.States.Len()))
	gauge(itemsDesc, float64(g.Catalogue.Size()))
	gauge(itemBytesDesc, float64(g.Catalogue.Bytes()))
	gauge(itemLimitDesc, float64(g.Catalogue.Limit()))
	gauge(damagedItemsDesc, float64(g.Catalogue.Damaged()))
	gauge(stateBytesDesc, float64(g.States.Bytes()))
	stats, err := g.Stats(context.Background())
	if err == nil { // a closed store has no size; the series is then absent
		gauge(storeBytesDesc, float64(stats.Bytes))
		for _, v := range []struct {
			desc  *prometheus.Desc
			value int64 // -1: unknown
		}{
			{storeRoomDesc, stats.Room}, {storeFreeDesc, stats.Free},
			{storeReserveDesc, stats.Reserve}, {storeDebtDesc, stats.Debt},
			{storeUsersDesc, stats.Users},
		} {
			if v.value >= 0 {
				gauge(v.desc, float64(v.value))
			}
		}
	}
	flag := func(d *prometheus.Desc, set bool) {
		if set {
			gauge(d, 1)
		} else {
			gauge(d, 0)
		}
	}
	flag(storeFailedDesc, errors.Is(err, store.ErrFailed))
	flag(storeAwayDesc, errors.Is(err, store.ErrUnavailable))
	flag(storeDegradedDesc, stats.Degraded != nil)
	flag(storeRefusingDesc, stats.Refusal != nil)
	flag(storeStalledDesc, errors.Is(stats.Refusal, store.ErrStalled))
	files, reads := 0, int64(0)
	if damage, ok := errors.AsType[*store.DamageError](stats.Damage); ok {
		files, reads = len(damage.Files), damage.Reads
	}
	gauge(storeDamagedFilesDesc, float64(files))
	gauge(storeDamagedReadsDesc, float64(reads))
	for _, a := range g.Arms.All() {
		l := a.Acquire()
		if l.Lease == nil { // the server has just stopped
			break
		}
		m := models.Describe(l.Lease)
		gauge(modelInfoDesc, 1, a.Name, m.GetVersion(), m.GetGraph(), m.GetDynamics(),
			m.GetFilter(), models.TrainedAt(m))
		l.Release()
	}
	if l := g.Arms.Main().Models.Acquire(); l != nil {
		defer l.Release()
		m := models.Describe(l)
		gauge(modelItemsDesc, float64(m.GetItemCount()))
		gauge(modelRankDesc, float64(m.GetRank()))
		gauge(modelLoadDesc, float64(l.Loaded().UnixMilli())/1e3)
		if at := m.GetTrainTime(); at != nil {
			gauge(modelTrainDesc, float64(at.AsTime().UnixMilli())/1e3)
		}
	}
	gauge(buildInfoDesc, 1, g.Build)
	flag(modelBehindDesc, g.ModelBehind() != nil)
	flag(drainingDesc, g.Draining())
}
