package call

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A listWriter writes lists to a file.
type listWriter interface {
	write(user string, list *pb.RecommendResponse) error
	close() error // writes what is left
}

// listForms make the writers of files by the end of their names.
var listForms = map[string]func(io.Writer, map[string]string) listWriter{
	".csv": newCSVLists, ".jsonl": newJSONLists, ".parquet": newParquetLists,
}

// listFormOf returns the key in listForms of a file name; empty for none.
func listFormOf(path string) string {
	path = strings.ToLower(path)
	if !strings.Contains(path, ".parquet") { // which is compressed inside
		path = strings.TrimSuffix(strings.TrimSuffix(path, ".gz"), ".zst")
	}
	for end := range listForms {
		if strings.HasSuffix(path, end) {
			return end
		}
	}
	return ""
}

// listRow is a place of a list.
type listRow struct {
	User    string  `parquet:"user_id,zstd"`
	Place   int32   `parquet:"place,zstd"`
	Item    string  `parquet:"item_id,dict,zstd"`
	Score   float64 `parquet:"score,zstd"`
	Source  string  `parquet:"source,dict,zstd"`
	Model   string  `parquet:"model_version,dict,zstd"`
	ID      string  `parquet:"recommendation_id,dict,zstd"`
	Title   string  `parquet:"title,dict,zstd"`
	Explain string  `parquet:"explanation,zstd"` // JSON; may be empty
}

// appendRows appends the rows of a list.
func appendRows(
	rows []listRow, user string, r *pb.RecommendResponse, titles map[string]string,
) ([]listRow, error) {
	for i, scored := range r.GetItems() {
		item := newItem(scored, titles)
		var why []byte
		if item.Explanation != nil {
			var err error
			if why, err = json.Marshal(item.Explanation); err != nil {
				return rows, err
			}
		}
		rows = append(rows, listRow{User: user, Place: int32(i + 1), Item: item.ID,
			Score: item.Score, Source: item.Source, Model: r.GetModelVersion(),
			ID: r.GetRecommendationId(), Title: item.Title, Explain: string(why)})
	}
	return rows, nil
}

// csvLists writes a row for each place.
type csvLists struct {
	out    *csv.Writer
	titles map[string]string
}

func newCSVLists(w io.Writer, titles map[string]string) listWriter {
	c := &csvLists{csv.NewWriter(w), titles}
	_ = c.out.Write([]string{"user_id", "place", "item_id", "score", "source", "model_version",
		"recommendation_id", "title", "explanation"}) // csv keeps the error
	return c
}

func (c *csvLists) write(user string, r *pb.RecommendResponse) error {
	rows, err := appendRows(nil, user, r, c.titles)
	for _, row := range rows {
		_ = c.out.Write([]string{row.User, strconv.Itoa(int(row.Place)), row.Item,
			strconv.FormatFloat(row.Score, 'g', -1, 64), row.Source, row.Model, row.ID, row.Title,
			row.Explain})
	}
	return errors.Join(err, c.out.Error())
}

func (c *csvLists) close() error {
	c.out.Flush()
	return c.out.Error()
}

// parquetLists writes the same rows.
type parquetLists struct {
	out    *parquet.GenericWriter[listRow]
	titles map[string]string
	rows   []listRow // not written yet
}

func newParquetLists(w io.Writer, titles map[string]string) listWriter {
	return &parquetLists{out: parquet.NewGenericWriter[listRow](w,
		parquet.MaxRowsPerRowGroup(rowGroup)), titles: titles}
}

const (
	// rowGroup is the number of rows of a Parquet file that are in memory before they are written.
	rowGroup = 1 << 17
	// manyRows go to the columns together: a few at a time cost more.
	manyRows = 1 << 12
)

func (p *parquetLists) write(user string, r *pb.RecommendResponse) (err error) {
	if p.rows, err = appendRows(p.rows, user, r, p.titles); err != nil || len(p.rows) < manyRows {
		return err
	}
	return p.flush()
}

func (p *parquetLists) flush() error {
	_, err := p.out.Write(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetLists) close() error { return errors.Join(p.flush(), p.out.Close()) }

// jsonLists writes an object for each user.
type jsonLists struct {
	out    *json.Encoder
	titles map[string]string
}

func newJSONLists(w io.Writer, titles map[string]string) listWriter {
	return jsonLists{json.NewEncoder(w), titles}
}

func (j jsonLists) write(user string, r *pb.RecommendResponse) error {
	return j.out.Encode(struct {
		User string `json:"user_id"`
		Answer
	}{user, newAnswer(r, j.titles)})
}

func (j jsonLists) close() error { return nil }
