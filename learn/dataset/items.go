package dataset

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// DefaultTitleColumn is the column of the titles where ItemsOptions leaves it empty.
const DefaultTitleColumn = "title"

// ItemsOptions says how to read an items file. The zero value is usable.
type ItemsOptions struct {
	ItemColumn  string // column of the item ids; empty: DefaultItemColumn
	TitleColumn string // column of the titles; empty: DefaultTitleColumn
}

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
// them: a title for each item id. Titles may be empty, and in quotes they may hold delimiters,
// quotes and line ends. More columns are ignored. The first fault is an error.
func ReadItems(path string, opt ItemsOptions) (*Catalogue, error) {
	var c *Catalogue
	err := rows.With(path, nil, func(s *rows.Source) (err error) {
		c, err = readItems(s, opt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func readItems(s *rows.Source, opt ItemsOptions) (*Catalogue, error) {
	// A name that was not asked for is no fault of the option: see rows.OpenTable.
	id, title := rows.Column{Name: DefaultItemColumn}, rows.Column{Name: DefaultTitleColumn}
	if opt.ItemColumn != "" {
		id = rows.Column{Name: opt.ItemColumn, Field: "ItemColumn"}
	}
	if opt.TitleColumn != "" {
		title = rows.Column{Name: opt.TitleColumn, Field: "TitleColumn"}
	}
	if id.Name == title.Name {
		return nil, fault.New("TitleColumn", title.Name, "another column than that of the ids")
	}
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
