package deploy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stage is a server in a state that alerts are for, with a Prometheus that scrapes it.
type stage struct {
	*testing.T
	*served
	*prometheus
	program *program
	fired   map[string]bool
}

// provocation makes a server fire some alerts.
type provocation struct {
	alerts []string
	faults bool // the program has the faults of testdata/provoked
	flags  func(t *testing.T, dir string) []string
	do     func(s *stage)
}

// provocations have all alerts of alerts.yaml.
var provocations = map[string]provocation{
	"calls": {do: calls, alerts: []string{"GsimcModelLoadFailed", "GsimcListsNotPersonal",
		"GsimcModelStale", "GsimcShedding", "GsimcDown"},
		flags: flags("--max-in-flight", "8", "--quality-sample", "1")},
	"full disk": {do: fullDisk, alerts: []string{"GsimcStoreRefusing", "GsimcStoreFillsUp",
		"GsimcErrorsFast", "GsimcErrorsSlow"}, flags: func(t *testing.T, dir string) []string {
		kept := reserve(t, dir)
		if kept == "" {
			t.Skip("the disk is nearly empty: it cannot seem full")
		}
		return []string{"--store-reserve", kept}
	}},
	"slow disk": {do: slowDisk, faults: true, flags: flags("--default-timeout", "5s"),
		alerts: []string{"GsimcRecommendSlow", "GsimcEventsLate", "GsimcStoreStalled", "GsimcPanic"}},
	"broken disk": {do: brokenDisk, faults: true,
		flags: flags("--retrain-every", "1s", "--extend-every", "100ms"),
		alerts: []string{"GsimcModelDrift", "GsimcRetrainingFailed", "GsimcStoreFailed",
			"GsimcStoreDamaged", "GsimcRetentionLate"}},
	"shared store": sharedStore(),
	"doors": {do: doors, alerts: []string{"GsimcStrangers", "GsimcCertificateEnds"},
		flags: func(t *testing.T, dir string) []string {
			certificate(t, dir+".pem", 3*24*time.Hour)
			write(t, dir+".tokens", "web recommend "+strings.Repeat("0", 64)+"\n")
			return []string{"--tls-cert", dir + ".pem", "--tls-key", dir + ".pem", "--token-file",
				dir + ".tokens"}
		}},
}

func flags(f ...string) func(*testing.T, string) []string {
	return func(*testing.T, string) []string { return f }
}

// TestAlertsFire brings servers into the states that alerts are for, and sees the alerts fire on what
// Prometheus scrapes of them. Then the commands of the runbook must do what it says.
func TestAlertsFire(t *testing.T) {
	sound := &program{path: build(t)}
	sound.model = train(t, sound.path)
	faulty := &program{path: build(t, "-overlay", overlay(t)), model: sound.model}
	missing := loadAlerts(t)
	for name, p := range provocations {
		for _, alert := range p.alerts {
			delete(missing, alert)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := sound
			if p.faults {
				program = faulty
			}
			dir := filepath.Join(t.TempDir(), "state")
			must(t, os.Mkdir(dir, 0o700))
			args := p.flags(t, dir)
			s := &stage{T: t, program: program, served: program.serve(t, dir, args...),
				fired: map[string]bool{}}
			s.prometheus = startPrometheus(t, s.ops)
			s.advance(true)
			p.do(s)
			for _, alert := range p.alerts {
				if !s.fired[alert] {
					t.Errorf("%s did not fire", alert)
				}
			}
		})
	}
	for alert := range missing {
		t.Errorf("nothing provokes %s", alert)
	}
}

// until provokes, scrapes, and lets the state last for a while in the time of the database, so often
// until an alert fires, which it must not have done before the first provocation. Then the commands
// of its section of the runbook must hold.
func (s *stage) until(alert string, most int, last time.Duration, provoke func()) {
	s.Helper()
	if s.firing()[alert] && provoke != nil {
		s.Errorf("%s fires before it is called for", alert)
	}
	for range most {
		if provoke != nil {
			provoke()
		}
		s.advance(true)
		s.hold(last)
		if s.firing()[alert] {
			s.fired[alert] = true
			s.runbook(alert)
			return
		}
	}
}

func calls(s *stage) {
	s.metricsOfAlertsExist()
	s.events(1500)
	s.metricsOfDashboardExist()
	good := read(s.T, s.model)
	write(s.T, s.model+".bad", "no model")
	rename(s.T, s.model+".bad", s.model)
	s.signal(s.T, syscall.SIGHUP)
	s.await(s.T, "model reload failed")
	s.until("GsimcModelLoadFailed", 1, 0, nil)
	write(s.T, s.model+".good", good)
	rename(s.T, s.model+".good", s.model)
	s.until("GsimcListsNotPersonal", 3, 30*time.Minute, func() {
		s.call("/v1/recommend", `{"userId": "nobody"}`)
	})
	s.until("GsimcModelStale", 1, time.Hour, nil)
	s.until("GsimcShedding", 5, 0, func() {
		subjects := strings.Repeat(`{"userId": "a"},`, 255) + `{"userId": "b"}`
		s.served.calls(s.T, http.StatusTooManyRequests, 280, "/v1/recommend:batch",
			`{"subjects": [`+subjects+`]}`)
	})
	s.served.end(s.T, syscall.SIGKILL)
	s.advance(false)
	s.hold(2 * time.Minute)
	if s.fired["GsimcDown"] = s.firing()["GsimcDown"]; s.fired["GsimcDown"] {
		s.runbook("GsimcDown")
	}
}

// metricsOfDashboardExist: the server has all series of the dashboard, once events have been measured.
func (s *stage) metricsOfDashboardExist() {
	s.Helper()
	names := regexp.MustCompile(`\b(gsimc|grpc_server|process)_[a-z_]+[a-z]\b`).FindAllString(
		read(s.T, "grafana/gsimc.json"), -1)
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		page := s.page("/metrics")
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			return strings.Contains(page, "\n"+name+" ") || strings.Contains(page, "\n"+name+"{")
		})
		if len(missing) == 0 {
			return
		}
		if time.Since(begun) > 20*time.Second {
			s.Errorf("the dashboard reads %v, which the server does not have", missing)
			return
		}
	}
}

// page returns what the ops listener answers.
func (s *stage) page(path string) string {
	s.Helper()
	resp, err := s.client.Get("http://" + s.ops + path)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return string(text)
}

// fullDisk has a store with a reserve that the disk does not have: it is there to be read.
func fullDisk(s *stage) {
	s.until("GsimcStoreRefusing", 1, time.Minute, nil)
	s.until("GsimcStoreFillsUp", 1, 15*time.Minute, nil)
	refused := func() {
		s.served.calls(s.T, http.StatusTooManyRequests, 100, "/v1/events",
			`{"userId": "a", "itemId": "i1"}`)
	}
	s.until("GsimcErrorsFast", 3, 0, refused)
	s.until("GsimcErrorsSlow", 3, 0, nil)
}

// slowDisk has a disk that is slow at first and then hangs, and a handler with a bug.
func slowDisk(s *stage) {
	event := `{"userId": "a", "itemId": "i1"}`
	// slow has a fault on for some time of a call.
	slow := func(fault string, d time.Duration, path, body string) func() {
		return func() {
			s.fault(s.T, fault, true)
			answered := make(chan struct{})
			go func() { s.call(path, body); close(answered) }()
			time.Sleep(d)
			s.fault(s.T, fault, false)
			<-answered
		}
	}
	s.until("GsimcRecommendSlow", 1, 0,
		slow("read", 200*time.Millisecond, "/v1/recommend", `{"userId": "a"}`))
	s.until("GsimcEventsLate", 2, 5*time.Minute, slow("sync", 3*time.Second, "/v1/events", event))
	s.until("GsimcPanic", 1, 0, func() {
		s.fault(s.T, "bug", true)
		s.call("/v1/events", event)
		s.fault(s.T, "bug", false)
	})
	s.until("GsimcStoreStalled", 1, 0, func() {
		s.fault(s.T, "sync", true)
		go s.call("/v1/events", event)
		s.await(s.T, "the store takes no events")
	})
	s.fault(s.T, "sync", false)
}

// brokenDisk loses the folder of the model, then a sync of the store fails, and then the disk has
// other bits than were written.
func brokenDisk(s *stage) {
	if err := os.RemoveAll(filepath.Dir(s.model)); err != nil {
		s.Fatal(err)
	}
	s.events(12_000)
	s.until("GsimcRetrainingFailed", 1, 0, func() { s.await(s.T, "retraining failed") })
	s.until("GsimcModelDrift", 20, 6*time.Hour, func() { time.Sleep(100 * time.Millisecond) })
	s.until("GsimcStoreFailed", 1, 0, func() {
		s.fault(s.T, "broken", true)
		s.call("/v1/events", `{"userId": "a", "itemId": "i1"}`)
	})
	s.served.end(s.T, syscall.SIGTERM)
	s.fault(s.T, "broken", false)
	// A start writes tables of what is in the log.
	s.program.serve(s.T, s.dir).end(s.T, syscall.SIGTERM)
	s.damage()
	s.served = s.program.serve(s.T, s.dir, "--retain", "24h")
	s.prometheus = startPrometheus(s.T, s.ops)
	for u := range 40 {
		s.call("/v1/recommend", fmt.Sprintf(`{"userId": "u%d"}`, u))
	}
	s.await(s.T, "old events are out of the store") // but those of damaged histories
	s.until("GsimcRetentionLate", 1, time.Hour, nil)
	s.until("GsimcStoreDamaged", 1, 0, nil) // whose commands want the server stopped
}

// events sends events with long ids of 40 users who have no tastes.
func (s *stage) events(n int) {
	s.Helper()
	random := mathrand.New(mathrand.NewPCG(1, 1))
	const atOnce = 500
	for batch := range n / atOnce {
		var list []string
		for i := range atOnce {
			list = append(list, fmt.Sprintf(`{"userId": "u%d", "itemId": "i%d", "eventId": "%060d"}`,
				random.IntN(40), random.IntN(120), batch*atOnce+i))
		}
		status := s.call("/v1/events:batch", `{"events": [`+strings.Join(list, ",")+`]}`)
		if status != http.StatusOK {
			s.Fatalf("events: status %d", status)
		}
	}
}

// damage turns bits in the middle of the largest table of the store.
func (s *stage) damage() {
	s.Helper()
	var largest []byte
	var file string
	tables, err := filepath.Glob(filepath.Join(s.dir, "*", "*.sst"))
	for _, table := range tables {
		if text := read(s.T, table); len(text) > len(largest) {
			largest, file = []byte(text), table
		}
	}
	if err != nil || len(largest) == 0 {
		s.Fatalf("%s has no tables (%v)", s.dir, err)
	}
	for i := range 64 {
		largest[len(largest)/2+i] ^= 0xff
	}
	write(s.T, file, string(largest))
}

// doors has strangers without a token, and a certificate that ends in three days.
func doors(s *stage) {
	s.until("GsimcCertificateEnds", 1, 0, nil)
	s.until("GsimcStrangers", 6, 0, func() {
		s.served.calls(s.T, http.StatusUnauthorized, 280, "/v1/recommend", `{"userId": "a"}`)
	})
}

// certificate writes a certificate and its key into one file.
func certificate(t *testing.T, file string, good time.Duration) {
	t.Helper()
	key := get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(good),
		DNSNames: []string{"localhost"}}
	cert := get(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))(t)
	secret := get(x509.MarshalPKCS8PrivateKey(key))(t)
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))+
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	must(t, os.Rename(from, to))
}
