package call

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
)

// A listWriter writes lists to a file.
type listWriter interface {
	write(user string, list *pb.RecommendResponse) error
	close() error // writes what is left
}

// listForms make the writers of files by the end of their names.
var listForms = map[string]func(io.Writer, map[string]string) listWriter{
	".csv": newCSVLists, ".jsonl": newJSONLists,
}

// listFormOf returns the key in listForms of a file name; empty for none.
func listFormOf(path string) string {
	path = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(path), ".gz"), ".zst")
	for end := range listForms {
		if strings.HasSuffix(path, end) {
			return end
		}
	}
	return ""
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
	for i, item := range newAnswer(r, c.titles).Items {
		var why []byte
		if item.Explanation != nil {
			var err error
			if why, err = json.Marshal(item.Explanation); err != nil {
				return err
			}
		}
		_ = c.out.Write([]string{user, strconv.Itoa(i + 1), item.ID,
			strconv.FormatFloat(item.Score, 'g', -1, 64), item.Source, r.GetModelVersion(),
			r.GetRecommendationId(), item.Title, string(why)})
	}
	return c.out.Error()
}

func (c *csvLists) close() error {
	c.out.Flush()
	return c.out.Error()
}

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
