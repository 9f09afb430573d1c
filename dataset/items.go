package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Catalogue holds what is known of items besides their ids.
type Catalogue struct {
	entries map[string]entry
}

type entry struct {
	title      string
	categories string // separated by '|'
}

// Len returns the number of items.
func (c *Catalogue) Len() int { return len(c.entries) }

// Title returns the title of an item, empty if it is not known.
func (c *Catalogue) Title(id string) string { return c.entries[id].title }

// Categories returns the categories of an item, nil if none are known.
func (c *Catalogue) Categories(id string) []string {
	e := c.entries[id]
	if e.categories == "" {
		return nil
	}
	return strings.Split(e.categories, "|")
}

// ReadItems reads an items file: CSV or TSV with the columns item_id, title and
// categories, plain or compressed. Several categories are separated by '|';
// title and categories may be empty. More columns are ignored. The first fault
// is an error.
func ReadItems(path string) (*Catalogue, error) {
	s, err := openSource(path)
	if err != nil {
		return nil, err
	}
	c, err := readItems(s)
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	return c, nil
}

func readItems(s *source) (*Catalogue, error) {
	columns := []string{"item_id", "title", "categories"}
	t, at, err := openTable(s, "an items file", columns...)
	if err != nil {
		return nil, err
	}
	c := &Catalogue{entries: map[string]entry{}}
	for {
		fields, err := t.next()
		if err == io.EOF {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		id := fields[at[0]]
		if reason := checkID(id); reason != "" {
			return nil, t.bad(columns[0], reason)
		}
		if _, twice := c.entries[string(id)]; twice {
			return nil, t.bad(columns[0], fmt.Sprintf("item %s was there before", quote(id)))
		}
		for i := 1; i < len(columns); i++ {
			if text := fields[at[i]]; !utf8.Valid(text) {
				return nil, t.bad(columns[i], fmt.Sprintf("%s is not valid UTF-8", quote(text)))
			}
		}
		c.entries[string(id)] = entry{title: string(fields[at[1]]), categories: string(fields[at[2]])}
	}
}

// openTable opens s as a CSV or TSV file with fixed columns and returns their
// positions; what names the kind of file in errors.
func openTable(s *source, what string, columns ...string) (t *table, at []int, err error) {
	if s.text == nil || s.format == formatJSONL {
		return nil, nil, fmt.Errorf("%s: %s must be CSV or TSV, not %s", s.path, what, s.format)
	}
	if t, err = newTable(s, 0); err != nil {
		return nil, nil, err
	}
	for _, name := range columns {
		i, err := t.find(column{name: name, optional: true})
		if err != nil {
			return nil, nil, err
		}
		if i < 0 {
			return nil, nil, fmt.Errorf("%s: no column %q; the file has %s: %s needs %s",
				s.path, name, quoteList(t.header), what, strings.Join(columns, ", "))
		}
		at = append(at, i)
	}
	return t, at, nil
}
