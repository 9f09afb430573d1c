package train

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/spectral"
)

// Keys of a model's provenance that this package writes and reads.
const (
	KeyDataHash     = "data_hash"        // hash of the interactions, see dataset.Interactions.Hash
	KeySampleHash   = "sample_hash"      // of the sample beside a spectrum, for data_hash
	KeySpectrum     = "spectrum"         // the program that learned the spectrum over a lake
	KeySpectrumHash = "spectrum_hash"    // checksum of its file
	KeySeed         = "seed"             // Config.Seed
	KeySolverReport = "solver_report"    // spectral.Report in words
	KeyTrainedAt    = model.TrainedAtKey // time of the training, RFC 3339
	// time of the newest event, RFC 3339; absent if events have no times
	KeyLastEvent     = "last_event"
	KeyMinItemEvents = "min_item_events" // filter of rare items, 0: none
	KeyMinUserEvents = "min_user_events" // filter of rare users, 0: none
	KeyAskedRank     = "asked_rank"      // Config.Rank, or rankDefault
	KeySolver        = "solver"          // Config.Solver
	KeyLandmarks     = "landmarks"       // of the solver nystrom
	KeyNystromForm   = "nystrom_form"    // of the solver nystrom
	KeyChoice        = "choice"          // fit.Choice in words; absent if nothing was chosen
	KeyCandidates    = "candidates"      // what it was chosen from, with the values
)

// rankDefault is the asked rank of a training that asked for none.
const rankDefault = "default"

// Origin says where the events of a training come from and when it is.
type Origin struct {
	DataHash                     string    // dataset.Report.Hash; that of the sample for a spectrum
	LastEvent                    string    // of [LastEvent]
	TrainedAt                    time.Time // the time that the model records
	MinUserEvents, MinItemEvents int       // filters of rare users and items

	// Spectrum is the checksum of the file of a [Spectrum] and Program what made it. Empty: the
	// events themselves were read.
	Spectrum, Program string
}

// provenance returns the entries that the model keeps, so that [Like], [KnownUntil] and readers of
// the file can tell how it was made. It is nil without an origin. choice may be nil.
func (c *Config) provenance(basis *spectral.Basis, choice *fit.Choice) map[string]string {
	if c.Origin == nil {
		return nil
	}
	o := c.Origin
	p := map[string]string{
		KeySeed:          strconv.FormatUint(c.Seed, 10),
		KeySolverReport:  basis.Report.String(),
		KeyTrainedAt:     o.TrainedAt.UTC().Format(time.RFC3339),
		KeyMinItemEvents: strconv.Itoa(o.MinItemEvents),
		KeyMinUserEvents: strconv.Itoa(o.MinUserEvents),
		KeyAskedRank:     rankDefault,
		KeySolver:        c.Solver,
	}
	if o.Spectrum == "" {
		p[KeyDataHash] = o.DataHash
	} else {
		p[KeySampleHash], p[KeySpectrum], p[KeySpectrumHash] = o.DataHash, o.Program, o.Spectrum
	}
	if c.Rank != 0 {
		p[KeyAskedRank] = strconv.Itoa(c.Rank)
	}
	if choice != nil {
		p[KeyChoice], p[KeyCandidates] = choice.String(), choice.Values()
		if choice.Rank < choice.Of { // a training like this one is to keep it
			p[KeyAskedRank] = strconv.Itoa(choice.Rank)
		}
	}
	if c.Solver == spectral.SolverNystrom {
		p[KeyLandmarks], p[KeyNystromForm] = strconv.Itoa(c.Nystrom.Landmarks), c.Nystrom.Form
	}
	if o.LastEvent != "" {
		p[KeyLastEvent] = o.LastEvent
	}
	if c.Notes != nil {
		maps.Copy(p, c.Notes(basis))
	}
	return p
}

// LastEvent returns the time of the newest event in RFC 3339, "" if events have no times.
func LastEvent(d *dataset.Interactions) string {
	if len(d.Time) == 0 {
		return ""
	}
	return time.Unix(slices.Max(d.Time), 0).UTC().Format(time.RFC3339)
}

// KnownUntil returns the time up to which a model with this provenance may have seen events. It is
// that of the newest event of the training, but no time after the training itself: a single event
// from the future must not make all others old. A model of events without times, or with positions
// in their place, may have seen all that there was at its training. Events that a model has seen
// cannot tell how well it foresees. Without these entries the model has seen nothing, and the
// result is the smallest time.
func KnownUntil(provenance map[string]string) int64 {
	until, known := int64(math.MaxInt64), false
	for _, key := range []string{KeyLastEvent, KeyTrainedAt} {
		if at, err := time.Parse(time.RFC3339, provenance[key]); err == nil {
			until, known = min(until, at.Unix()), true
		}
	}
	if !known {
		return math.MinInt64
	}
	return until
}
