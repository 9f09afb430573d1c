package evaluate

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
	"github.com/gsimc/gsimc/learn/dataset"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
)

// arriving is fashion with an item that every user of the last days has as the third one.
func arriving() (d *dataset.Interactions, item int32, times []int64) {
	d = fashion(true)
	item = int32(len(d.Items))
	d.Items = append(d.Items, "new")
	for u := 560; u < len(d.Users); u++ {
		j := d.Ptr[u] + 2
		d.Item[j], times = item, append(times, d.Time[j])
	}
	return d, item, times
}

// New items join by what happened in the spans before: not earlier, and not later.
func TestArrivals(t *testing.T) {
	d, item, times := arriving()
	x, _ := cutOf(t, d, TimeSplit{Share: 0.1}, nil)
	got := x.Arrivals
	if got == nil || got.Items != 1 || got.New == 0 || got.New >= got.Targets {
		t.Fatalf("%+v, want targets on one new item and on others", got)
	}
	if got.LeftOut.New != 0 || got.Served.New < 0.9 || got.Served.All <= got.LeftOut.All {
		t.Errorf("%+v: an item that all take is not listed, or it is when it is left out", got)
	}
	a := check.Get(x.newArrivals(x.Fitted.model, x.Fitted.trend))(t)
	x.Content = map[string]content.Document{"new": {Title: "like no other"}}
	alone := check.Get(x.runArrivals(x.Fitted.model, x.Fitted.trend))(t)
	check.Same(t, got, alone, "with a document like no other")
	for _, time := range times {
		for span := a.spec.SpanOf(time); span <= a.spec.SpanOf(time)+1; span++ {
			models, index, err := a.at(span)
			check.Must(t, err)
			taken := 0
			for _, time := range times {
				if a.spec.SpanOf(time) < span {
					taken++
				}
			}
			at, want := index[item], taken >= model.MinNewUsers
			if (at >= 0) != want {
				t.Fatalf("with %d users before the span the new item is number %d", taken, at)
			}
			if !want {
				continue
			}
			plain, still, served := models[0], models[1], models[2]
			if _, known := plain.ItemIndex("new"); known || still.ItemID(at) != "new" {
				t.Fatal("the new item is where it is left out, or not where it is not")
			}
			trends := [2]float64{}
			for k, m := range []*model.Model{still, served} {
				trends[k] = m.Explain(m.NewState(), nil, []int32{at}, model.EstimatorBGS).Trend[0]
			}
			if trends[0] != 0 || !(trends[1] > 0) {
				t.Fatalf("the trends of the new item are %v", trends)
			}
		}
	}
}
