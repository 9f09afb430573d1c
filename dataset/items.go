package dataset

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Catalogue holds what is known of items besides their ids.
type Catalogue struct {
	titles map[string]string
}

// Title returns the title of an item, empty if it is not known.
func (c *Catalogue) Title(id string) string { return c.titles[id] }

// ReadItems reads an items file: CSV or TSV with the columns item_id, title and
// categories, plain or compressed. Several categories are separated by '|';
// title and categories may be empty. More columns are ignored. The first fault
// is an error.
func ReadItems(path string) (*Catalogue, error) {
	var c *Catalogue
	err := oneSource(path, func(s *source) (err error) {
		c, err = readItems(s)
		return err
	})
	if err != nil {
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
	c := &Catalogue{titles: map[string]string{}}
	for {
		fields, err := t.next()
		if err == io.EOF {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		id := fields[at[0]]
		if err := checkID(id); err != nil {
			return nil, t.bad(columns[0], err)
		}
		if _, twice := c.titles[string(id)]; twice {
			return nil, t.bad(columns[0], refusef("item %s was there before", quote(id)))
		}
		for i := 1; i < len(columns); i++ {
			if text := fields[at[i]]; !utf8.Valid(text) {
				return nil, t.bad(columns[i], refusef("%s is not valid UTF-8", quote(text)))
			}
		}
		c.titles[string(id)] = string(fields[at[1]])
	}
}

// openTable opens s as a CSV or TSV file with fixed columns and returns their
// positions; what names the kind of file in errors.
func openTable(s *source, what string, columns ...string) (t *table, at []int, err error) {
	if s.text == nil || s.format == formatJSONL {
		return nil, nil, fmt.Errorf("%s: %s must be CSV or TSV, not %s", s.path, what, s.format)
	}
	if t, err = newTable(s, tableForm{wanted: columns}); err != nil {
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
