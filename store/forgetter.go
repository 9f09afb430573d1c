package store

import "context"

// Forgetter is a [Store] that knows when the bytes of erased users have left its files.
type Forgetter interface {
	Store

	// Forgotten waits until nothing is left in the store's files of the users whose Erase returned
	// before the call. The bytes leave the files whether or not anyone waits. A store without files
	// returns at once. Copies are not looked for.
	//
	// While nothing can be written, as on a full disk or beside known damage, it waits on. The
	// error of a context that ends before says nothing of the erasure, which is done.
	Forgotten(ctx context.Context) error
}
