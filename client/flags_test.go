package client

import (
	"testing"

	"github.com/gsimc/gsimc/internal/test/check"
)

func TestFlagOf(t *testing.T) {
	for field, want := range map[string]string{
		"Address": "--server", "TLS": "--tls", "TLSCA": "--tls-ca", "ClientKey": "--client-key",
		"TLSServerName": "--tls-server-name", "IDPrefix": "--id-prefix", "Timeout": "--timeout",
	} {
		check.Same(t, want, FlagOf(field), "%s", field)
	}
}
