package progress

import (
	"io"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bars draws one bar per stage and takes it away at the stage's end.
type bars struct {
	out io.Writer

	mu   sync.Mutex
	pool *mpb.Progress // of the running stage; nil between stages
	bar  *mpb.Bar

	shown track
}

func (b *bars) Begin(stage string, unit Unit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
	b.shown = track{}
	counters := decor.CountersNoUnit(" %d / %d " + string(unit))
	if unit == Bytes {
		counters = decor.CountersKibiByte(" % .1f / % .1f")
	}
	b.pool = mpb.New(mpb.WithOutput(b.out), mpb.WithWidth(48), mpb.WithAutoRefresh())
	b.bar = b.pool.AddBar(0,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(stage)),
		mpb.AppendDecorators(decor.Percentage(), counters, decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
}

func (b *bars) Update(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		return
	}
	done, total = b.shown.forward(done, total)
	b.bar.SetTotal(total, false)
	b.bar.SetCurrent(done)
}

func (b *bars) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stop()
}

// stop removes the bar and waits until the screen shows it.
func (b *bars) stop() {
	if b.bar == nil {
		return
	}
	b.bar.Abort(true)
	b.pool.Wait()
	b.bar, b.pool = nil, nil
}
