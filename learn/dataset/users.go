package dataset

import (
	"errors"
	"io"

	"github.com/gsimc/gsimc/learn/dataset/internal/rows"
)

// ReadUsers returns the user ids in the column user_id of a file, each once, in the order in
// which they first come. The file may be one of events, or have no other column; its forms are
// those of [Read]. A path of [Stdin] is the reader stdin. The first bad row ends the reading
// with a [*RowError].
func ReadUsers(path string, stdin io.Reader) (users []string, err error) {
	form := rows.Form{}
	form.Columns[rows.UserColumn] = rows.Column{Name: DefaultUserColumn}
	form.Columns[rows.ItemColumn] = form.Columns[rows.UserColumn] // every row has both
	err = rows.With(path, stdin, func(s *rows.Source) error {
		reader, err := rows.NewReader(s, form, nil)
		if err != nil {
			return err
		}
		met, row := map[string]struct{}{}, rows.Row{}
		for {
			switch err := reader.Next(&row); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if _, twice := met[string(row.User)]; !twice {
				user := string(row.User)
				met[user] = struct{}{}
				users = append(users, user)
			}
		}
	})
	return users, err
}
