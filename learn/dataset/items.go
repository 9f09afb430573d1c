package dataset

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// ReadItems reads an items file, CSV or TSV with a header, plain or compressed, as Read recognises
// them: in the columns item_id and title, a title for each id. Titles may be empty, and in quotes
// they may hold delimiters, quotes and line ends. More columns are ignored. The first fault is an
// error.
func ReadItems(path string) (titles map[string]string, err error) {
	err = rows.With(path, nil, func(s *rows.Source) (err error) {
		titles, err = readItems(s)
		return err
	})
	return titles, err
}

func readItems(s *rows.Source) (map[string]string, error) {
	id, title := rows.Column{Name: DefaultItemColumn}, rows.Column{Name: "title"}
	t, at, err := rows.OpenTable(s, "an items file", id, title)
	if err != nil {
		return nil, err
	}
	titles := map[string]string{}
	for {
		fields, err := t.Next()
		if errors.Is(err, io.EOF) {
			return titles, nil
		}
		if err != nil {
			return nil, err
		}
		item, text := fields[at[0]], fields[at[1]]
		if err := rows.CheckID(item); err != nil {
			return nil, t.Bad(id.Name, err)
		}
		if _, twice := titles[string(item)]; twice {
			return nil, t.Bad(id.Name, rows.Refusef("item %s was there before", rows.Quote(item)))
		}
		if !utf8.Valid(text) {
			return nil, t.Bad(title.Name, rows.Refusef("%s is not valid UTF-8", rows.Quote(text)))
		}
		titles[string(item)] = string(text)
	}
}
