package ledger

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/gsimc/gsimc/internal/file/atomicfile"
	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/coldstart/internal/codec"
	"github.com/gsimc/gsimc/server/internal/models"
)

const (
	// keepEvery is the shortest interval between two writes of what serves, but for the last one:
	// a file may have a hundred megabytes, and a search finds what it lacks.
	keepEvery = 10 * time.Minute
	// keepFirst is the time until the first one. What is placed before is the half of an import.
	keepFirst = time.Minute
)

// kept is what serves of a base, in the form that a file keeps for the next start. Both documents
// have checksums of their own.
type kept struct {
	base              string             // its version
	extension, trends []byte             // the documents; empty: none
	weights           uint64             // see [Account]
	users             map[string]float64 // by which items were placed, see [Row]
	by                map[string]placing
}

// placing is by what else an item was placed, see [Row].
type placing struct {
	since int64
	trace uint64
}

// keptForm begins the file. One of another form is passed over.
const keptForm = "new items 3"

// begin is all of the form but the extension, which ends it.
func (k *kept) begin() []byte {
	w := codec.New()
	w.Text(keptForm)
	w.Text(k.base)
	w.Text(string(k.trends))
	w.Fixed(k.weights)
	w.Count(len(k.users))
	for _, id := range slices.Sorted(maps.Keys(k.users)) {
		w.Text(id)
		w.Float(k.users[id])
		w.Int(k.by[id].since)
		w.Fixed(k.by[id].trace)
	}
	return w.Bytes()
}

func decodeKept(file []byte) (kept, error) {
	r := codec.Read(file)
	if r.Text() != keptForm {
		return kept{}, r.Err()
	}
	k := kept{base: r.Text(), trends: []byte(r.Text()), weights: r.Fixed(),
		users: map[string]float64{}, by: map[string]placing{}}
	for range r.Count() {
		id := r.Text()
		k.users[id], k.by[id] = r.Float(), placing{r.Int(), r.Fixed()}
	}
	k.extension = r.Rest()
	return k, r.Err()
}

// restore lets what the process before has kept of this base serve, until the store has been
// searched. After an error nothing of it does.
func (m *Memory) restore(ctx context.Context, l *models.Lease) error {
	began := time.Now()
	atomicfile.Sweep(m.file)
	file, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	k, err := decodeKept(file)
	base := l.Base()
	if err != nil || k.base != base.Version() {
		return err
	}
	if len(k.extension) == 0 && len(k.trends) == 0 {
		return nil
	}
	var trends *trend.Snapshot
	if len(k.trends) > 0 {
		if trends, err = trend.Decode(k.trends, base.Version(), base.NumItems()); err != nil {
			return err
		}
	}
	extended, items := base, []model.NewItem(nil)
	if len(k.extension) > 0 {
		if extended, items, err = l.DecodeExtension(k.extension); err != nil {
			return err
		}
	}
	if trends != nil {
		m.account.Tally.Inherited()
	}
	m.items, m.users, m.by, m.trends, m.stage.trends = items, k.users, k.by, k.trends, trends
	m.account.Rows, m.account.Borrowed = rowsOf(items, k.users, k.by)
	m.weights, m.account.Weights = k.weights, k.weights
	return m.stage.serve(ctx, l, extended, len(items), began, slog.String("file", m.file))
}

// placedBy are the numbers of users by which rows were placed, and by what else.
func placedBy(rows map[string]Row) (users map[string]float64, by map[string]placing) {
	users, by = make(map[string]float64, len(rows)), make(map[string]placing, len(rows))
	for id, row := range rows {
		if !row.Fault {
			users[id], by[id] = row.Users, placing{row.Since, row.Trace}
		}
	}
	return users, by
}

// keep writes what serves of the base of l.
func (m *Memory) keep(l *models.Lease) (err error) {
	k := kept{base: l.Base().Version(), trends: m.trends, weights: m.weights,
		users: m.users, by: m.by}
	if len(m.items) > 0 {
		if k.extension, err = l.EncodeExtension(m.items); err != nil {
			return err
		}
	}
	f, err := atomicfile.CreatePrivate(m.file)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{k.begin(), k.extension} {
		_, _ = f.Write(part) // Close returns its error
	}
	return f.Close()
}
