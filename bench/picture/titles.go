package main

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// titles has the title of each item id.
type titles map[string]string

// of returns the title of an item, or its id if the title is not known.
func (t titles) of(id string) string {
	return cmp.Or(t[id], id)
}

// readTitles reads a CSV file with the columns item_id and title, gzipped if its name ends in .gz.
func readTitles(path string) (found titles, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var text io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		if text, err = gzip.NewReader(file); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	records := csv.NewReader(text)
	header, err := records.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	id, title := -1, -1
	for i, name := range header {
		switch name {
		case "item_id":
			id = i
		case "title":
			title = i
		}
	}
	if id < 0 || title < 0 {
		return nil, fmt.Errorf("%s: the columns are %q, want item_id and title", path, header)
	}
	found = titles{}
	for {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		found[record[id]] = record[title]
	}
}
