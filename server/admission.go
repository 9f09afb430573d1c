package server

import (
	"net"
	"time"

	"github.com/gsimc/gsimc/server/internal/admission"
)

// newGate makes the gate that all calls of a listener pass.
func (s *Server) newGate(methods map[string]admission.Method) *admission.Gate {
	return admission.New(admission.Config{
		Methods:        methods,
		DefaultTimeout: s.cfg.DefaultTimeout, MaxTimeout: s.cfg.MaxTimeout,
		MaxInFlight: s.cfg.MaxInFlight, MaxStreams: s.cfg.MaxStreams,
		// A client has a connection and watches the health by it.
		MaxWatches: s.cfg.MaxConnections, MaxReceiving: maxReceiving,
		MaxBodies: s.maxBodies,
	}, s.metrics.admission)
}

// Clients that do not read lose their connections, see [admission.Bounds], and slow large bodies
// make room.
const (
	sendTimeout   = 30 * time.Second
	maxUnreadSize = 40 << 20
	maxBodies     = 32 << 20 // of the JSON side, on their way
)

// limited is a listener with a bounded number of connections, and of bytes that wait for them.
func (s *Server) limited(l net.Listener, connections int) net.Listener {
	return admission.Limit(l, admission.Bounds{Connections: connections,
		AnswerTime: s.sendTimeout, AnswerBytes: s.maxUnreadSize}, s.metrics.admission)
}
