package server

import (
	"maps"

	"github.com/gsimc/gsimc/internal/event"
	"github.com/gsimc/gsimc/server/internal/watched"
)

// openEventTypes reads the file of the weights of event types, if there is one.
func (s *Server) openEventTypes() error {
	const field = "EventTypesFile"
	if s.cfg.EventTypesFile == "" {
		return nil
	}
	s.types = &watched.Files[event.Weights]{Name: "event types",
		Paths: []watched.Path{{Field: field, Name: s.cfg.EventTypesFile}},
		Parse: func(texts [][]byte) (event.Weights, error) {
			return event.ParseWeights(field, texts[0])
		},
		Log: s.log,
		Reloaded: func(good bool) {
			s.metrics.typesTaken(good)
			if good {
				// States by the old weights are folded anew as users come back.
				s.updater.SetWeights(s.types.Get())
				s.follow.Reweighed()
			}
		},
	}
	if err := s.types.Open(); err != nil {
		return err
	}
	s.updater.SetWeights(s.types.Get())
	return nil
}

// EventWeights returns the weights of event types as of now.
func (s *Server) EventWeights() event.Weights { return maps.Clone(s.updater.Weights()) }
