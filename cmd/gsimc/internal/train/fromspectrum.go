package train

import (
	"path/filepath"
	"time"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/cmd/gsimc/internal/progress"
	"github.com/gsimc/gsimc/learn/train"
)

// spectrumFlags finish a training that began over a lake.
type spectrumFlags struct {
	FromSpectrum string `group:"Events:" placeholder:"FILE" help:"Finish a training that deploy/spark/train_spectrum.py began where the events lie: FILE is the spectrum.safetensors that it wrote, and --data its sample of validation users."`
}

// weightColumn is the column of the weights in a sample.
const weightColumn = "weight"

// readSpectrum reads the file and the sample, and deals the latter out.
func (c *Cmd) readSpectrum(
	a *cli.App, p progress.Progress, j *job, trainedAt time.Time,
) (*train.Spectrum, error) {
	p.Begin("reading the spectrum", progress.Steps)
	s, err := train.ReadSpectrum(c.FromSpectrum, c.Tolerance)
	p.End()
	if err != nil {
		return nil, cli.Flag("--from-spectrum", cli.PathError(err))
	}
	if s.Weighted && c.WeightColumn == "" {
		c.WeightColumn = weightColumn
	}
	events, report, err := c.Read(a, p)
	if err != nil {
		return nil, err
	}
	j.report, j.cfg = report, s.Apply(c.config())
	j.cfg.Origin = s.Origin(report.Hash)
	j.cfg.Origin.TrainedAt = trainedAt
	if j.part = events.HeldOut(s.Items); j.part.Validation.Len() == 0 {
		return nil, cli.Flagf("--data", "no user of %d has two of the %d items of the "+
			"spectrum: give the sample that the job wrote beside it", events.NumUsers(),
			len(s.Items))
	}
	j.interactions = s.Interactions
	return s, nil
}

// learnFromSpectrum is learn for --from-spectrum.
func (c *Cmd) learnFromSpectrum(
	a *cli.App, p progress.Progress, j *job, trainedAt time.Time,
) error {
	s, err := c.readSpectrum(a, p, j, trainedAt)
	if err != nil {
		return err
	}
	c.describe(a, p, j)
	defer p.End()
	if j.result, err = s.Learn(j.part, j.cfg); err != nil {
		return err
	}
	c.measure(p, j)
	return nil
}

// addSpectrum adds what decides a model of a spectrum.
func (c *Cmd) addSpectrum(line *commandLine, cfg *train.Config, rank int) {
	line.add("from-spectrum", filepath.Base(c.FromSpectrum))
	c.addSource(line)
	if !cfg.ChooseRank {
		line.add("rank", rank)
	}
	if !cfg.ChooseRidge {
		line.add("ridge", cfg.Spec.Dynamics.Ridge)
	}
	if c.Quick {
		*line = append(*line, "--quick")
	}
	if c.NoDeviation {
		*line = append(*line, "--no-deviation")
	}
}
