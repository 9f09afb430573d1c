package progress

import (
	"io"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bars draws one bar per stage and removes it at the end of the stage. A stage of unknown length
// shows its name and times without a bar.
type bars struct {
	out io.Writer

	pool *mpb.Progress // of the running stage; nil between stages
	bar  *mpb.Bar
	state
}

func (b *bars) Begin(stage string, unit Unit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	b.begin(stage, unit)
	b.pool = mpb.New(mpb.WithOutput(b.out), mpb.WithWidth(40), mpb.WithAutoRefresh())
	b.bar = b.pool.AddBar(0,
		mpb.BarRemoveOnComplete(),
		mpb.BarFillerMiddleware(onlyWithTotal),
		mpb.PrependDecorators(decor.Name(stage+" ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return b.text() })))
}

// onlyWithTotal leaves the bar out while the total is unknown.
func onlyWithTotal(bar mpb.BarFiller) mpb.BarFiller {
	return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		if s.Total <= 0 {
			return nil
		}
		return bar.Fill(w, s)
	})
}

// text returns the part of the line behind the bar.
func (b *bars) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if amount := b.amount(); amount != "" {
		return amount + ", " + b.times()
	}
	return b.times()
}

func (b *bars) Update(done, total int64) {
	b.mu.Lock()
	bar := b.bar
	if bar != nil {
		done, total = b.shown.forward(done, total)
	}
	b.mu.Unlock() // the bar may be waiting for the text
	if bar != nil {
		bar.SetTotal(total, false)
		bar.SetCurrent(done)
	}
}

func (b *bars) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	b.end()
}

// stop removes the bar and waits until the screen is up to date.
func (b *bars) stop() {
	if b.bar == nil {
		return
	}
	bar, pool := b.bar, b.pool
	b.bar, b.pool = nil, nil
	b.mu.Unlock() // the last refresh asks for the text
	defer b.mu.Lock()
	bar.Abort(true)
	pool.Wait()
}
