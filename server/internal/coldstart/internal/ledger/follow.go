package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/model"
	"github.com/gsimc/gsimc/model/content"
	"github.com/gsimc/gsimc/model/trend"
	"github.com/gsimc/gsimc/server/internal/models"
	"github.com/gsimc/gsimc/store"
)

// A document is named ext-BASE-TERM-SEQUENCE, so that the last name is the newest. It holds an
// extension or, in another topic, trends.
func documentName(base string, term, sequence uint64) string {
	return fmt.Sprintf("ext-%s-%010d-%010d", base, term, sequence)
}

// sequenceOf is the sequence number of a document, 0 if the name is not one.
func sequenceOf(name string) uint64 {
	n, _ := strconv.ParseUint(name[strings.LastIndexByte(name, '-')+1:], 10, 64)
	return n
}

// newest returns the last of the names of documents, empty if there is none.
func newest(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// follow lets the newest extension of the base serve, and the newest trends.
func (s *Shared) follow(ctx context.Context, l *models.Lease) error {
	extensions, err := s.store.NoteNames(ctx, documentsTopic(s.base))
	if err != nil {
		return err
	}
	trends, err := s.store.NoteNames(ctx, trendsTopic(s.base))
	if err != nil {
		return err
	}
	return errors.Join(s.followExtension(ctx, l, newest(extensions)),
		s.followTrends(ctx, l, newest(trends)))
}

func (s *Shared) followExtension(ctx context.Context, l *models.Lease, name string) error {
	if name == "" || name == s.loaded || name == s.refused {
		return nil
	}
	document, found, err := s.store.Note(ctx, documentsTopic(s.base), name)
	if err != nil || !found { // a newer one has taken its place
		return err
	}
	return s.serve(ctx, l, name, document, time.Now())
}

// serve lets the document of a name serve. One that is refused is told once, and what serves stays.
func (s *Shared) serve(
	ctx context.Context, l *models.Lease, name string, document []byte, began time.Time,
) error {
	extended, items, err := l.DecodeExtension(document)
	if err != nil {
		s.refused = name
		s.stage.Metrics.Refused.Inc()
		return fmt.Errorf("extension %s is refused: %w", name, err)
	}
	if err := s.stage.serve(ctx, l, extended, len(items), began,
		slog.String("extension", name)); err != nil {
		return err
	}
	s.loaded, s.items = name, items
	return nil
}

// rowsOf are the rows of a document that another process has made, by the users by which they were
// placed, and by what else; and the items that nobody had, who borrowed theirs.
func rowsOf(
	items []model.NewItem, users map[string]float64, by map[string]placing,
) (rows map[string]Row, borrowed []model.NewItem) {
	rows = make(map[string]Row, len(items))
	for _, item := range items {
		row := Row{Item: item, Since: Unknown, Other: true}
		for _, known := range item.Near() {
			row.Near = append(row.Near, content.Neighbour{Item: known})
		}
		var taken bool
		if row.Users, taken = users[item.ID]; taken {
			if p, known := by[item.ID]; known {
				row.Since, row.Trace, row.Doubt = p.since, p.trace, true
			}
			rows[item.ID] = row
		} else if len(row.Near) > 0 { // others had users, who are gone
			borrowed = append(borrowed, item)
		}
	}
	return rows, borrowed
}

// Publish lets all servers have an extension, this one too.
func (s *Shared) Publish(
	ctx context.Context, l *models.Lease, items []model.NewItem, began time.Time,
) error {
	document, err := s.fit(l, items)
	if err != nil {
		return err
	}
	return s.publish(ctx, documentsTopic(s.base), document, func(name string) error {
		return s.serve(ctx, l, name, document, began)
	})
}

// publish writes a document, lets it serve here, and removes those of its topic before it.
func (s *Shared) publish(
	ctx context.Context, topic string, document []byte, serve func(name string) error,
) error {
	names, err := s.store.NoteNames(ctx, topic)
	if err != nil {
		return err
	}
	name := documentName(s.base, s.owned.term, sequenceOf(newest(names))+1)
	if err := s.put(ctx, topic, name, document); err != nil {
		return err
	}
	err = serve(name)
	if err != nil && !errors.Is(err, ErrOtherModel) {
		return err
	}
	return errors.Join(err, s.store.DeleteNotes(ctx, topic, names, s.owned.fence(s.base)))
}

// followTrends lets the trends of a name serve. Damaged ones are told once, and what serves stays.
func (s *Shared) followTrends(ctx context.Context, l *models.Lease, name string) error {
	if name == "" || name == s.trends {
		return nil
	}
	document, found, err := s.store.Note(ctx, trendsTopic(s.base), name)
	if err != nil || !found { // newer ones have taken their place
		return err
	}
	s.trends = name
	base := l.Base()
	trends, err := trend.Decode(document, base.Version(), base.NumItems())
	if err != nil {
		s.stage.Metrics.Refused.Inc()
		return fmt.Errorf("trends %s are refused: %w", name, err)
	}
	return s.stage.serveTrends(ctx, l, trends)
}

// PublishTrends lets all servers have a snapshot, this one too.
func (s *Shared) PublishTrends(
	ctx context.Context, l *models.Lease, trends *trend.Snapshot,
) error {
	document, err := trends.Encode(s.base)
	if err != nil {
		return err
	}
	if len(document) > store.MaxNoteBytes {
		return fmt.Errorf("trends of %d items have %d bytes, and a note has room for %d",
			len(trends.G), len(document), store.MaxNoteBytes)
	}
	return s.publish(ctx, trendsTopic(s.base), document, func(name string) error {
		s.trends = name
		return s.stage.serveTrends(ctx, l, trends)
	})
}

func (s *Shared) put(ctx context.Context, topic, name string, note []byte) error {
	return s.store.PutNote(ctx, topic, name, note, s.owned.fence(s.base))
}

// fit returns the document of as many of the items as fit into a note, from the first one on.
func (s *Shared) fit(l *models.Lease, items []model.NewItem) ([]byte, error) {
	for {
		document, err := l.EncodeExtension(items)
		if err != nil || len(document) <= store.MaxNoteBytes {
			return document, err
		}
		if !s.tooLarge {
			s.tooLarge = true
			s.stage.Log.Warn("the extension by all new items is too large for the store: those "+
				"with the fewest users, or with the least alike, are left out",
				slog.Int("bytes", len(document)), slog.Int("items", len(items)))
		}
		share := 0.95 * store.MaxNoteBytes / float64(len(document))
		items = items[:int(share*float64(len(items)))]
	}
}
