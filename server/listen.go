package server

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/server/internal/socket"
)

// Listeners are the doors of a server.
type Listeners struct {
	GRPC  net.Listener // RecommenderService, EventService, UserService, health
	Admin net.Listener // AdminService, reflection, health
	Ops   net.Listener // HTTP: /metrics, /livez, /readyz
	JSON  net.Listener // HTTP: the services of clients; nil: not served
}

// listenAll listens on the addresses of a configuration; after an error, on none.
func listenAll(ctx context.Context, cfg *Config) (l Listeners, err error) {
	var opened []net.Listener
	for _, door := range []struct {
		field, address string
		to             *net.Listener
	}{
		{"Listen", cfg.Listen, &l.GRPC},
		{"AdminListen", cfg.AdminListen, &l.Admin},
		{"OpsListen", cfg.OpsListen, &l.Ops},
		{"JSONListen", cfg.JSONListen, &l.JSON},
	} {
		if door.address == "" { // only JSONListen may be
			continue
		}
		if *door.to, err = socket.Listen(ctx, door.address); err != nil {
			for _, o := range opened {
				err = errors.Join(err, o.Close())
			}
			return Listeners{}, &fault.Fault{Field: door.field,
				Err: fmt.Errorf("%w; give another address, or port 0 for any", err)}
		}
		opened = append(opened, *door.to)
	}
	return l, nil
}
