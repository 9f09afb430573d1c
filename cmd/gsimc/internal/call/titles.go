package call

import (
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/dataset"
)

// titleFlags say where the titles of items are.
type titleFlags struct {
	ItemsFile string `group:"Output:" placeholder:"FILE" help:"CSV with the columns item_id and title, to print titles beside ids."`
}

// titles reads the titles by item; without a file there are none.
func (f *titleFlags) titles() (map[string]string, error) {
	if f.ItemsFile == "" {
		return nil, nil
	}
	titles, err := dataset.ReadItems(f.ItemsFile)
	if err != nil {
		return nil, cli.Flag("--items-file", cli.PathError(err))
	}
	return titles, nil
}
