package data

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/internal/chart"
	"github.com/gsimc/gsimc/internal/file/atomicfile"
)

// SVGFlag is the flag of the commands that draw.
const SVGFlag = "--svg"

// Drawing is a figure and the name of its file without ".svg".
type Drawing struct {
	Name   string
	Figure chart.Figure
}

// PrepareSVG makes the folder of --svg and finds out before the work that it can be written to. An
// empty folder stands for no figures.
func PrepareSVG(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Flag(SVGFlag, cli.PathError(err))
	}
	return cli.Writable(SVGFlag, filepath.Join(dir, "figure.svg"))
}

// WriteSVG writes the drawings that have something to show, and a line on w for each file.
func WriteSVG(w io.Writer, dir string, drawings []Drawing) error {
	for i := range drawings {
		text := drawings[i].Figure.SVG()
		if text == nil {
			continue
		}
		path := filepath.Join(dir, drawings[i].Name+".svg")
		if err := writeFile(path, text); err != nil {
			return cli.Flag(SVGFlag, cli.PathError(err))
		}
		fmt.Fprintf(w, "wrote %s\n", path)
	}
	return nil
}

// writeFile writes a file in one step.
func writeFile(path string, text []byte) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	//nolint:errcheck // Close tells the error of a write
	f.Write(text)
	return f.Close()
}

// FrequencyAxis is the x axis of figures by frequency. The index is on a logarithmic axis: nearly
// all frequencies are high ones.
var FrequencyAxis = chart.Axis{Label: "eigenvectors, from low to high frequency", Log: true}

// Smooth returns the means of y, by index from 1. A mean is over about an eighth of the indices
// before it, so that a curve is smooth where indices are many.
func Smooth(y []float64) (points []chart.Point) {
	for begin := 0; begin < len(y); {
		end := min(begin+1+begin/8, len(y))
		p := chart.Point{X: float64(begin+1+end) / 2}
		for _, v := range y[begin:end] {
			p.Y += v / float64(end-begin)
		}
		points = append(points, p)
		begin = end
	}
	return points
}
