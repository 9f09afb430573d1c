package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/gsimc/gsimc/internal/fault"
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
	err := oneSource(path, func(s *source) (err error) {
		c, err = readItems(s, opt)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

func readItems(s *source, opt ItemsOptions) (*Catalogue, error) {
	// A name that was not asked for is no fault of the option: see openTable.
	id, title := column{name: DefaultItemColumn}, column{name: DefaultTitleColumn}
	if opt.ItemColumn != "" {
		id = column{name: opt.ItemColumn, field: "ItemColumn"}
	}
	if opt.TitleColumn != "" {
		title = column{name: opt.TitleColumn, field: "TitleColumn"}
	}
	if id.name == title.name {
		return nil, fault.New("TitleColumn", title.name, "another column than that of the ids")
	}
	t, at, err := openTable(s, "an items file", id, title)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{titles: map[string]string{}}
	for {
		fields, err := t.next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		item, text := fields[at[0]], fields[at[1]]
		if err := checkID(item); err != nil {
			return nil, t.bad(id.name, err)
		}
		if _, twice := c.titles[string(item)]; twice {
			return nil, t.bad(id.name, refusef("item %s was there before", quote(item)))
		}
		if !utf8.Valid(text) {
			return nil, t.bad(title.name, refusef("%s is not valid UTF-8", quote(text)))
		}
		c.titles[string(item)] = string(text)
	}
}

// openTable opens s as a CSV or TSV file with the given columns and returns their positions; kind
// names the kind of file in errors.
func openTable(s *source, kind string, columns ...column) (t *table, at []int, err error) {
	if s.text == nil || s.format == formatJSONL {
		return nil, nil, fmt.Errorf("%s: %s must be CSV or TSV, not %s", s.path, kind, s.format)
	}
	var form tableForm
	for _, c := range columns {
		form.wanted = append(form.wanted, c.name)
	}
	if t, err = newTable(s, form); err != nil {
		return nil, nil, err
	}
	for _, c := range columns {
		c.optional = c.field == "" // a name that no option changes has an error of its own
		i, err := t.find(c)
		if err != nil {
			return nil, nil, err
		}
		if i < 0 {
			return nil, nil, fmt.Errorf("%s: no column %q; the file has %s: %s needs %s",
				s.path, c.name, quoteList(t.header), kind, strings.Join(form.wanted, ", "))
		}
		at = append(at, i)
	}
	return t, at, nil
}
