// Package faults has the tests that break a cluster of nine processes, three primaries with two
// replicas each, while servers write to it and read from it through store/valkey. They check that
// every acknowledged event is there afterwards, and that settings which are known to lose some do.
//
// make test-all injects each fault once, and make soak as often as docs/scale.md says:
//
//	GSIMC_SOAK=20 go test -v -timeout 2h ./store/valkey/internal/faults
//
// All tests use one cluster, one after the other, and heal it before they begin.
package faults
