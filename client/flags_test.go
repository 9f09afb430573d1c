package client

import "testing"

func TestFlagOf(t *testing.T) {
	for field, want := range map[string]string{
		"Address": "--server", "TLS": "--tls", "TLSCA": "--tls-ca", "ClientKey": "--client-key",
		"TLSServerName": "--tls-server-name", "IDPrefix": "--id-prefix", "Timeout": "--timeout",
	} {
		if got := FlagOf(field); got != want {
			t.Errorf("%s: %s, want %s", field, got, want)
		}
	}
}
