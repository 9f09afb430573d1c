package model

import (
	"fmt"
	"strings"

	"github.com/gsimc/gsimc/model/internal/sealed"
)

const provenancePrefix = "provenance."

// metaField joins a field of a Spec with its name in the metadata of the file. value is a pointer
// to the field.
type metaField struct {
	name  string
	value any // see sealed.Format
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

// optionalFields lists groups of fields that only files of models with a discount of the local
// term, trends, repeats or popularity have. The first of a group is above 0 then.
func optionalFields(s *Spec) [][]metaField {
	return [][]metaField{
		{{"local_discount", &s.Local.Discount}},
		{{"trend_half_life", &s.Trend.HalfLife}, {"trend_span", &s.Trend.Span},
			{"trend_gain", &s.Trend.Gain}},
		{{"trend_power", &s.Trend.Power}},
		{{"popularity_weight", &s.Dynamics.Popularity}},
		{{"again_decay", &s.Again.Decay}, {"again_days", &s.Again.Days},
			{"again_constant", &s.Again.Constant}, {"again_recency", &s.Again.Recency},
			{"again_newest", &s.Again.Newest}},
	}
}

// metadata returns the metadata of the file, without the checksum.
func (m *Model) metadata() map[string]string {
	meta := map[string]string{formatKey: formatVersion}
	fields := append(metaFields(&m.spec), localFields(&m.spec)...)
	for _, group := range optionalFields(&m.spec) {
		if *group[0].value.(*float64) > 0 {
			fields = append(fields, group...)
		}
	}
	for _, f := range fields {
		meta[f.name] = sealed.Format(f.value)
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
	for _, group := range optionalFields(&s) {
		if _, has := meta[group[0].name]; has {
			fields = append(fields, group...)
		}
	}
	for _, f := range fields {
		text, ok := meta[f.name]
		if !ok {
			return s, fmt.Errorf("the metadata have no %q", f.name)
		}
		if err := sealed.ParseTo(f.value, text); err != nil {
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
