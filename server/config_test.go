package server

import (
	"testing"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/internal/test/check"
)

func TestConfigValidateReportsEveryFault(t *testing.T) {
	check.Pass(t, DefaultConfig().Validate(), "the defaults are refused")
	nan := 0.0
	nan /= nan
	bad := Config{Listen: "nowhere", DrainDelay: -1, SlowRequest: -1,
		EventWeights: map[string]float64{"A": 1, "ok": nan, "": 1, "fine": -1000, "much": 1000.5}}
	err := bad.Validate()
	if err == nil {
		t.Fatal("a configuration full of faults is accepted")
	}
	for _, field := range []string{`"A"`, `"ok"`, `""`, `"much"`} {
		check.Says(t, err, field, "error")
	}
	check.Lacks(t, err.Error(), "fine", "error beside a good weight")
	wantFields := []string{
		"Listen", "AdminListen", "OpsListen", "StateCacheBytes",
		"DefaultTimeout", "MaxInFlight", "MaxStreams", "MaxCatalogueBytes", "StreamIdle", "SlowRequest",
		"DrainDelay", "DrainTimeout",
		"MaxRecvBytes", "MaxSendBytes", "MaxConcurrentStreams", "MaxConnections",
		"MaxConnectionAge", "Estimator", "Console", "PopularityHalfLife",
		"CanaryEvents", "EventWeights",
	}
	check.Same(t, wantFields, fault.Fields(err), "faults of the fields")
	if _, err := New(bad, nil, nil); len(fault.Fields(err)) != len(wantFields) {
		t.Errorf("New takes a bad configuration, or hides its faults: %v", err)
	}
}

// A port with digits is one of 16 bits.
func TestPorts(t *testing.T) {
	for port, good := range map[string]bool{"": true, "0": true, "65535": true, "http": true,
		"65536": false, "-1": false, "99999999999999999999": false} {
		if err := validAddress("Listen", "127.0.0.1:"+port); good != (err == nil) {
			t.Errorf("port %q: %v", port, err)
		}
	}
}
