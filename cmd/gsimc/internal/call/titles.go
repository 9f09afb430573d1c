package call

import (
	"github.com/gsimc/gsimc/cmd/gsimc/internal/cli"
	"github.com/gsimc/gsimc/learn/dataset"
)

// titleFlags say where the titles of items are.
type titleFlags struct {
	ItemsFile string `group:"Output:" placeholder:"FILE" help:"CSV with the columns item_id and title, to print titles beside ids."`
}

// catalogue reads the titles; without a file there are none.
func (f *titleFlags) catalogue() (*dataset.Catalogue, error) {
	if f.ItemsFile == "" {
		return &dataset.Catalogue{}, nil
	}
	titles, err := dataset.ReadItems(f.ItemsFile)
	if err != nil {
		return nil, cli.Flag("--items-file", cli.PathError(err))
	}
	return titles, nil
}
