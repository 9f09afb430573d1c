package sealed

import "errors"

// Memory is a file in memory outside of the Go heap: mapped, or a copy. The zero value is none.
type Memory struct {
	Data []byte
	Copy bool
}

var errBigEndian = errors.New("model files can be read on little-endian processors only")
