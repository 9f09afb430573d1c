// Package lock keeps a second program from a file that one program writes to. The lock ends with
// the process or with the last copy of the open file, so a kill leaves none behind. It binds only
// programs that ask for it, and systems without flock, such as Windows, have none.
package lock

import "errors"

// ErrTaken is the error for a file whose lock another open file has, here or in another process.
var ErrTaken = errors.New("another program writes to it")
