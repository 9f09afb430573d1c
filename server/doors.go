package server

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/gsimc/gsimc/internal/fault"
	"github.com/gsimc/gsimc/server/internal/calls"
	"github.com/gsimc/gsimc/server/internal/doors"
	"github.com/gsimc/gsimc/server/internal/socket"
)

// NewToken draws a token for a client of a server and returns it with its line for the file of
// Config.TokenFile, which has the token's hash only. roles is a list with commas of [Roles]. The
// error is a [fault.Fault] of the field name or roles.
func NewToken(name, roles string) (token, line string, err error) {
	return doors.NewToken(name, roles)
}

// Roles returns all that a token may be good for. No role includes another.
func Roles() (names []string) {
	for _, role := range doors.Roles() {
		names = append(names, string(role))
	}
	return names
}

// openDoors reads the files of tokens and certificates.
func (c *Config) openDoors(log *slog.Logger, m *doors.Metrics) (*doors.Doors, error) {
	// Certificates are valid by the clock of the system, as those of the clients are.
	return doors.Open(doors.Files{Tokens: c.TokenFile, Cert: c.TLSCert, Key: c.TLSKey,
		ClientCA: c.TLSClientCA}, calls.Roles(), time.Now, log, m)
}

// validateDoors returns the faults of the fields about who may call. An address that other machines
// reach needs TLS, and a proof of who calls.
func (c *Config) validateDoors() []error {
	var faults []error
	switch {
	case c.TLSCert != "" && c.TLSKey == "":
		faults = append(faults, &fault.Fault{Field: "TLSCert", Problem: "goes with a key",
			Advice: []fault.Change{{Verb: "set", Field: "TLSKey"}}})
	case c.TLSCert == "" && c.TLSKey != "":
		faults = append(faults, &fault.Fault{Field: "TLSKey", Problem: "goes with a certificate",
			Advice: []fault.Change{{Verb: "set", Field: "TLSCert"}}})
	}
	if c.TLSClientCA != "" && c.TLSCert == "" {
		faults = append(faults, &fault.Fault{Field: "TLSClientCA", Problem: "goes with TLS",
			Advice: []fault.Change{{Verb: "set", Field: "TLSCert"}}})
	}
	if c.Insecure {
		return faults
	}
	safe := c.TLSCert != "" && (c.TokenFile != "" || c.TLSClientCA != "")
	for _, door := range []struct{ field, address string }{
		{"Listen", c.Listen}, {"AdminListen", c.AdminListen}, {"JSONListen", c.JSONListen},
	} {
		if !safe && !onThisMachine(door.address) {
			faults = append(faults, &fault.Fault{Field: door.field,
				Problem: strconv.Quote(door.address) + " may be reached from other machines, " +
					"which takes TLS, and tokens or client certificates",
				Advice: []fault.Change{{Verb: "see", Field: "TLSCert"},
					{Verb: "see", Field: "TokenFile"},
					{Verb: "set", Field: "Insecure", To: "to do without"}}})
		}
	}
	if c.Pprof && !onThisMachine(c.OpsListen) {
		faults = append(faults, &fault.Fault{Field: "Pprof",
			Problem: strconv.Quote(c.OpsListen) + " may be reached from other machines, and " +
				"profiles show the memory of the process",
			Advice: []fault.Change{{Verb: "leave out", Field: "Pprof"},
				{Verb: "set", Field: "Insecure", To: "to serve them there"}}})
	}
	return faults
}

// onThisMachine reports whether only this machine reaches an address. An address that is not one
// is the matter of another fault.
func onThisMachine(address string) bool {
	if strings.HasPrefix(address, socket.UnixPrefix) {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
