package server

import (
	"errors"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/protobuf/encoding/protojson"

	pb "github.com/gsimc/gsimc/api/gsimc/v1"
	"github.com/gsimc/gsimc/server/internal/console"
	"github.com/gsimc/gsimc/server/internal/httpjson"
	"github.com/gsimc/gsimc/server/internal/origin"
	"github.com/gsimc/gsimc/store"
)

// newOps builds the HTTP server for machines and operators. It has no authentication: it belongs on
// an inner address, and serves profiles only where they are asked for. The calls of the console are
// those of any client, and need the tokens that clients need.
func (s *Server) newOps() *http.Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true})) // which has exemplars
	mux.HandleFunc("GET /livez", s.livez)
	mux.HandleFunc("GET /readyz", s.readyz)
	pages := "/metrics\n/livez\n/readyz"
	if s.cfg.servesConsole() {
		pages += "\n" + strings.Join(console.Paths(), "\n")
		h := origin.Policy{}.Handler(console.NewHandler(console.Deps{API: s.json.handler,
			Past: s.past, Models: http.HandlerFunc(s.listModels)}))
		for _, path := range console.Paths() {
			mux.Handle(path, h)
		}
	}
	if s.cfg.Pprof {
		pages += "\n/debug/pprof/"
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, pages)
	})
	// A foreign page, whose name may be made to lead to this machine, reads neither metrics nor
	// profiles. Where other machines reach the listener, they know it by names of their own.
	guarded := origin.Policy{AnyHost: !onThisMachine(s.cfg.OpsListen)}.Handler(mux)
	return &http.Server{
		Handler:           httpjson.EndUnread(s.inTime(guarded)),
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnContext:       withPeer,
	}
}

// listModels answers the console with what AdminService says of the models, for people.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	list, err := s.services.admin.ListModels(r.Context(), &pb.ListModelsRequest{})
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	for _, arm := range list.GetModels() { // what servers are added up by
		if o := arm.GetOutcome(); o != nil {
			o.GroupUserCounts, o.GroupHitCounts = nil, nil
		}
	}
	list.ServerId = ""
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(list)
	if err != nil {
		answer(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(text) // an error means that the reader has gone
}

// inTime ends answers that are not read, so that they hold no memory. A profile takes the time that
// it measures.
func (s *Server) inTime(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := s.opsWrite
		if strings.HasPrefix(r.URL.Path, "/debug/pprof/") {
			limit = profileTimeout
		}
		// It fails for connections without deadlines only, which a listener does not have.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit))
		h.ServeHTTP(w, r)
	})
}

// livez answers 503 when only a new process can help: the store has failed and takes no writes any
// more.
func (s *Server) livez(w http.ResponseWriter, r *http.Request) {
	if _, err := s.storeStats(r.Context()); errors.Is(err, store.ErrFailed) {
		answer(w, http.StatusServiceUnavailable, storeTrouble(err))
		return
	}
	answer(w, http.StatusOK, "ok")
}

// readyz answers 200 when the server should get traffic: a model is loaded (without one there is no
// server), the store and its disk answer, and no shutdown has begun. It says if the store refuses
// events because the disk is full, for Recommend goes on, if a store that is shared cannot be
// reached, which comes back by itself and takes no server out of service before, or if an older
// model serves than the newest.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.isDraining() {
		answer(w, http.StatusServiceUnavailable, "draining")
		return
	}
	stats, err := s.storeStats(r.Context())
	behind := s.modelBehind()
	switch {
	case errors.Is(err, store.ErrUnavailable): // for all servers alike: none is better
		answer(w, http.StatusOK, "ok, but "+storeTrouble(err))
	case err != nil:
		answer(w, http.StatusServiceUnavailable, storeTrouble(err))
	case errors.Is(stats.Refusal, store.ErrStalled):
		answer(w, http.StatusServiceUnavailable, storeTrouble(stats.Refusal))
	case stats.Refusal != nil:
		answer(w, http.StatusOK, "ok, but the store takes no events: "+stats.Refusal.Error())
	case stats.Degraded != nil:
		answer(w, http.StatusOK, "ok, but the store keeps less than it is set up for: "+
			stats.Degraded.Error())
	case behind != nil:
		answer(w, http.StatusOK, "ok, but the newest model cannot be loaded, and an older one "+
			"serves: "+behind.Error())
	case s.ModelVersion() == "":
		answer(w, http.StatusOK, "ok, but there is no model yet: popular items are listed")
	default:
		answer(w, http.StatusOK, "ok")
	}
}

// modelBehind returns why the newest model does not serve, nil if it does.
func (s *Server) modelBehind() error {
	if s.cfg.ModelBehind == nil {
		return nil
	}
	return s.cfg.ModelBehind()
}

// storeTrouble words an error of the store for operators. By the contract of stores it holds no
// ids.
func storeTrouble(err error) string {
	if errors.Is(err, store.ErrFailed) {
		return "the server needs a restart: " + err.Error()
	}
	if refused, ok := errors.AsType[*store.RefusedError](err); ok {
		return refused.Error()
	}
	return "the store does not answer: " + err.Error()
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // an error means that the prober has gone
}
