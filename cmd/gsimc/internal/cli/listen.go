package cli

import (
	"errors"
	"fmt"
	"net"
)

// CanListen tells which listeners of a server will not open, by pairs of a flag and its TCP
// address. Empty addresses are left out.
func CanListen(doors [][2]string) error {
	var errs []error
	for _, door := range doors {
		if door[1] == "" {
			continue
		}
		l, err := net.Listen("tcp", door[1])
		if err != nil {
			err = fmt.Errorf("%w; give another address, or port 0 for any", err)
			errs = append(errs, Flag(door[0], err))
			continue
		}
		// When all are open, as two flags may name one address. Nothing was accepted.
		defer func() { _ = l.Close() }()
	}
	return errors.Join(errs...)
}
