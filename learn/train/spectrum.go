package train

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/kalman/dynamics"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/fit"
	"github.com/gsimc/gsimc/model/local"
	"github.com/gsimc/gsimc/spectral"
)

// Spectrum is what a job learns of the training users where their events lie, see [ReadSpectrum].
// All that is left to learn a model from is a sample of validation users. It does not change.
type Spectrum struct {
	Items []string // ids, in bytewise order
	Basis *spectral.Basis

	// The counts of the job.
	Users, Interactions          int64 // training users, and their events
	MinUserEvents, MinItemEvents int   // filters that it applied
	Weighted                     bool  // the events, and those of the sample, have weights

	spec        model.Spec // without the ridge, the deviation and the provenance
	normal      *dynamics.Normal
	successions *local.Successions // nil: no local term
	seed        uint64
	lastEvent   string // RFC 3339; empty if it is not known
	program     string // that made the file
	checksum    string // of the file
}

// Apply returns cfg with the constants that the job has used. The rank of cfg is kept if it is not
// 0, and so are the constants that the job has no part in.
func (s *Spectrum) Apply(cfg Config) Config {
	spec := s.spec
	spec.Dynamics.Ridge, spec.Dynamics.Deviation = cfg.Spec.Dynamics.Ridge,
		cfg.Spec.Dynamics.Deviation
	cfg.Spec, cfg.Seed = spec, s.seed
	// Bands that were given to the job stay.
	cfg.ChooseBands = cfg.ChooseBands &&
		slices.Equal(spec.Dynamics.Bands, Recommended().Dynamics.Bands)
	if cfg.Rank == 0 {
		cfg.Rank = s.Basis.K
	}
	return cfg
}

// Origin returns the origin of a model that is learned with a sample of the given hash.
func (s *Spectrum) Origin(sampleHash string) *Origin {
	return &Origin{
		DataHash: sampleHash, Spectrum: s.checksum, Program: s.program, LastEvent: s.lastEvent,
		MinUserEvents: s.MinUserEvents, MinItemEvents: s.MinItemEvents,
	}
}

// Learn is [Learn] with the sums of s in the place of training users. The validation users of p are
// a sample of those that the job has left out, over the items of s, and cfg is that of
// [Spectrum.Apply]. The errors are those of model.New, and faults of Rank and Data.
func (s *Spectrum) Learn(p *dataset.Partition, cfg Config) (*Result, error) {
	if len(p.Items) != s.Basis.N || p.Train.Len() > 0 {
		panic(fmt.Sprintf("train: a partition of %d items and %d training users for a spectrum of "+
			"%d items", len(p.Items), p.Train.Len(), s.Basis.N))
	}
	if cfg.Rank < 1 || cfg.Rank > s.Basis.K {
		return nil, fault.New("Rank", cfg.Rank,
			fmt.Sprintf("1 to %d, the rank of the spectrum", s.Basis.K))
	}
	if users := p.Validation.Len(); users < fit.FewSequences {
		return nil, &fault.Fault{
			Field: "Data", Problem: fmt.Sprintf("has %d users with two items of the spectrum",
				users),
			Want: fmt.Sprintf("at least %d to learn the noise from", fit.FewSequences),
		}
	}
	h := LearnFrom(p)
	h.Sums = &fit.Sums{Normal: s.normal, Successions: s.successions}
	if cfg.Rank < s.normal.K {
		h.Sums.Normal = s.normal.Prefix(s.normal.R, cfg.Rank)
	}
	r, err := learn(p, cfg, s.Basis.Prefix(cfg.Rank), s.Users, h)
	if err != nil {
		return nil, err
	}
	return r, s.checkSample(r.Model)
}

// errOtherSample is the cause of the fault of a sample that the basis tells nothing of.
var errOtherSample = errors.New("the histories of the sample are not like those of the spectrum")

// checkSample measures the basis on the sample. Any k coordinates hold k/n of the energy of
// histories that have nothing to do with them, and the basis of a graph of like histories holds
// more.
func (s *Spectrum) checkSample(m *model.Model) error {
	chance := float64(m.Rank()) / float64(s.Basis.N)
	if inside := m.InsideAtTraining(); chance < 1 && inside <= chance {
		return &fault.Fault{
			Field: "Data", Err: errOtherSample,
			Problem: fmt.Sprintf("has %.3g of its energy inside the basis, not above the %.3g of "+
				"chance:", inside, chance),
			Want: "the sample that the job wrote beside the spectrum",
		}
	}
	return nil
}
