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
			errs = append(errs, Flag(door[0], fmt.Errorf("%w: port 0 takes a free one", err)))
			continue
		}
		// When all are open, as two flags may name one address. Nothing was accepted.
		defer func() { _ = l.Close() }()
	}
	return errors.Join(errs...)
}
