package dataset

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// Catalogue holds the titles of items. Its methods may be called on nil, a catalogue without items.
type Catalogue struct {
	titles map[string]string
}

// Title returns the title of an item, empty if it is not known.
func (c *Catalogue) Title(id string) string {
	if c == nil {
		return ""
	}
	return c.titles[id]
}

// Len returns the number of items.
func (c *Catalogue) Len() int {
	if c == nil {
		return 0
	}
	return len(c.titles)
}

// ReadItems reads an items file, CSV or TSV with a header, plain or compressed, as Read recognises
// them: in the columns item_id and title, a title for each id. Titles may be empty, and in quotes
// they may hold delimiters, quotes and line ends. More columns are ignored. The first fault is an
// error.
func ReadItems(path string) (*Catalogue, error) {
	var c *Catalogue
	err := rows.With(path, nil, func(s *rows.Source) (err error) {
		c, err = readItems(s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func readItems(s *rows.Source) (*Catalogue, error) {
	id, title := rows.Column{Name: DefaultItemColumn}, rows.Column{Name: "title"}
	t, at, err := rows.OpenTable(s, "an items file", id, title)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{titles: map[string]string{}}
	for {
		fields, err := t.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		item, text := fields[at[0]], fields[at[1]]
		if err := rows.CheckID(item); err != nil {
			return nil, t.Bad(id.Name, err)
		}
		if _, twice := c.titles[string(item)]; twice {
			return nil, t.Bad(id.Name, rows.Refusef("item %s was there before", rows.Quote(item)))
		}
		if !utf8.Valid(text) {
			return nil, t.Bad(title.Name, rows.Refusef("%s is not valid UTF-8", rows.Quote(text)))
		}
		c.titles[string(item)] = string(text)
	}
}
