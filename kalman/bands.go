package kalman

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseBands reads the bands of learned dynamics: a comma-separated list of forgetting factors per
// event, each with a half-life after @ if it also fades by time, such as "0,0.5,0.87@720h".
func ParseBands(text string) ([]Band, error) {
	var bands []Band
	for part := range strings.SplitSeq(text, ",") {
		rho, halfLife, timed := strings.Cut(strings.TrimSpace(part), "@")
		var band Band
		var err error
		band.Rho, err = strconv.ParseFloat(rho, 64)
		if err != nil || !(band.Rho >= 0 && band.Rho <= 1) {
			return nil, fmt.Errorf("%q is not a number from 0 to 1: "+
				"want a list such as 0,0.5,0.87 or 0,0.87@720h", rho)
		}
		if timed {
			d, err := time.ParseDuration(halfLife)
			if err != nil || d < time.Second {
				return nil, fmt.Errorf("%q is not a half-life: "+
					"want a duration of at least 1s, such as 0.87@720h", halfLife)
			}
			band.HalfLife = d.Seconds()
		}
		if err := band.Validate(); err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		if slices.Contains(bands, band) {
			return nil, fmt.Errorf("%q is there twice: "+
				"a second band with the same numbers holds nothing new", part)
		}
		bands = append(bands, band)
	}
	if len(bands) > MaxBands {
		return nil, fmt.Errorf("%d bands, want at most %d", len(bands), MaxBands)
	}
	return bands, nil
}

// FormatBands is the inverse of ParseBands. Half-lives are rounded to nanoseconds.
func FormatBands(bands []Band) string {
	parts := make([]string, len(bands))
	for i, b := range bands {
		parts[i] = strconv.FormatFloat(b.Rho, 'g', -1, 64)
		if b.HalfLife > 0 {
			parts[i] += "@" + time.Duration(b.HalfLife*float64(time.Second)).String()
		}
	}
	return strings.Join(parts, ",")
}
