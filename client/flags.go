package client

import (
	"strings"
	"unicode"
)

// AccessFlags are the flags of a command that calls a server, for a parser such as Kong that makes
// them of a struct: how its calls are protected, and who it is. They have other names than those of
// `gsimc serve`, since both may stand in one environment.
type AccessFlags struct {
	TLS             bool   `group:"Access:" name:"tls" help:"Use TLS, and trust the authorities of this system."`
	TLSCA           string `group:"Access:" name:"tls-ca" placeholder:"FILE" help:"Use TLS, and trust the authorities in this file, PEM."`
	TLSServerName   string `group:"Access:" name:"tls-server-name" placeholder:"NAME" help:"Name that the certificate of the server must have. Default: the host of the address."`
	ClientCert      string `group:"Access:" placeholder:"FILE" help:"Certificate of this client, PEM, for a server with --tls-client-ca."`
	ClientKey       string `group:"Access:" placeholder:"FILE" help:"Its key, PEM."`
	ClientTokenFile string `group:"Access:" placeholder:"FILE" help:"Token of this client, in the first line of a file, for a server with --token-file. Read again at each call. The variable GSIMC_CLIENT_TOKEN may have the token itself."`
	// A hidden flag has a variable of the environment, and `gsimc config print` leaves it out.
	ClientToken Token `hidden:"" env:"GSIMC_CLIENT_TOKEN" help:"The token itself, by the variable only: a flag would show it in the list of processes."`
}

// Access reads the files. The error is a fault of one of the flags.
func (f *AccessFlags) Access() (a Access, err error) {
	if a.Token = f.ClientToken; f.ClientTokenFile != "" {
		a.TokenFile = f.ClientTokenFile
		if a.Token, err = ReadToken(f.ClientTokenFile); err != nil {
			return a, err
		}
	}
	files := TLSFiles{CA: f.TLSCA, ServerName: f.TLSServerName, Cert: f.ClientCert,
		Key: f.ClientKey}
	if f.TLS || files != (TLSFiles{}) {
		a.TLS, err = LoadTLS(files)
	}
	return a, err
}

// oddFlags are the flags of fields that a fault of this package may have and that are not the
// field's own words.
var oddFlags = map[string]string{"Address": "--server", "Token": "--client-token-file",
	"TLSCA": "--tls-ca"}

// FlagOf returns the flag for the field of a fault: --client-cert for ClientCert, --id-prefix for
// IDPrefix.
func FlagOf(field string) string {
	if flag, ok := oddFlags[field]; ok {
		return flag
	}
	letters := []rune(field)
	var b strings.Builder
	b.WriteString("--")
	for i, r := range letters {
		begins := i > 0 && unicode.IsUpper(r) && (unicode.IsLower(letters[i-1]) ||
			i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
