package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gsimc/gsimc/kalman"
)

const provenancePrefix = "provenance."

// metaField joins a field of a Spec with its name in the metadata of the file. value is a pointer
// to the field.
type metaField struct {
	name  string
	value any // *string, *float64, *int64, *int, *bool or *[]kalman.Band
}

// metaFields lists the fields of s. A file must have all of them.
func metaFields(s *Spec) []metaField {
	return []metaField{
		{"graph", &s.Graph},
		{"degree_exponent", &s.DegreeExponent},
		{"window", &s.Window},
		{"degree_rescale", &s.DegreeRescale},
		{"filter", &s.Filter.Name},
		{"phi", &s.Filter.Phi},
		{"gamma", &s.Filter.Gamma},
		{"a", &s.Filter.A},
		{"power", &s.Filter.Power},
		{"alpha", &s.Alpha},
		{"half_life", &s.HalfLife},
		{"sigma_eta", &s.SigmaEta},
		{"sigma_nu", &s.SigmaNu},
		{"covariance", &s.Covariance},
		{"train_users", &s.TrainUsers},
		{"dynamics", &s.Dynamics.Kind},
		{"bands", &s.Dynamics.Bands},
		{"ridge", &s.Dynamics.Ridge},
		{"positions", &s.Dynamics.Positions},
		{"deviation", &s.Dynamics.Deviation},
	}
}

// localFields lists the fields of the local term. Files of the format before this one have none of
// them, and no local term.
func localFields(s *Spec) []metaField {
	return []metaField{
		{"local_weight", &s.Local.Weight},
		{"local_backward", &s.Local.Backward},
		{"local_source_exponent", &s.Local.SourceExponent},
		{"local_target_exponent", &s.Local.TargetExponent},
		{"local_fade", &s.Local.Fade},
		{"local_neighbours", &s.Local.Neighbours},
		{"local_events", &s.Local.Events},
	}
}

// metadata returns the metadata of the file, without the checksum.
func (m *Model) metadata() map[string]string {
	meta := map[string]string{formatKey: formatVersion}
	for _, f := range append(metaFields(&m.spec), localFields(&m.spec)...) {
		switch v := f.value.(type) {
		case *string:
			meta[f.name] = *v
		case *float64:
			meta[f.name] = strconv.FormatFloat(*v, 'g', -1, 64) // reads back as the same number
		case *int64:
			meta[f.name] = strconv.FormatInt(*v, 10)
		case *bool:
			meta[f.name] = strconv.FormatBool(*v)
		case *[]kalman.Band:
			meta[f.name] = kalman.FormatBands(*v)
		case *int:
			meta[f.name] = strconv.Itoa(*v)
		}
	}
	for key, value := range m.spec.Provenance {
		meta[provenancePrefix+key] = value
	}
	return meta
}

// specOf is the inverse of metadata. It ignores unknown names.
func specOf(meta map[string]string) (Spec, error) {
	var s Spec
	fields := metaFields(&s)
	if meta[formatKey] != formatWithoutLocal {
		fields = append(fields, localFields(&s)...)
	}
	for _, f := range fields {
		text, ok := meta[f.name]
		if !ok {
			return s, fmt.Errorf("the metadata have no %q", f.name)
		}
		var err error
		switch v := f.value.(type) {
		case *string:
			*v = text
		case *float64:
			*v, err = strconv.ParseFloat(text, 64)
		case *int64:
			*v, err = strconv.ParseInt(text, 10, 64)
		case *bool:
			*v, err = strconv.ParseBool(text)
		case *[]kalman.Band:
			if text != "" {
				*v, err = kalman.ParseBands(text)
			}
		case *int:
			*v, err = strconv.Atoi(text)
		}
		if err != nil {
			return s, fmt.Errorf("the metadata have %q = %q, which is not a value in range",
				f.name, text)
		}
	}
	for key, value := range meta {
		if name, ok := strings.CutPrefix(key, provenancePrefix); ok {
			if s.Provenance == nil {
				s.Provenance = map[string]string{}
			}
			s.Provenance[name] = value
		}
	}
	return s, nil
}
