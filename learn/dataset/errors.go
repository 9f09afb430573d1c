package dataset

import "github.com/gsimc/gsimc/learn/dataset/internal/rows"

// RowError is a fault in one row of a data file.
type RowError = rows.Error

// ErrNoData is wrapped by the errors about input that holds no interaction at all, be it that the
// file is empty or that the filters left nothing.
var ErrNoData = rows.ErrNoData
