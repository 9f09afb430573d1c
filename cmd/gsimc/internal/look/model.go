package look

// Model is `gsimc model`.
type Model struct {
	Show  ModelShow  `cmd:"" help:"Print what a model file holds, with plots of its spectrum and filter."`
	Items ModelItems `cmd:"" help:"List the items of a model by popularity."`
}
