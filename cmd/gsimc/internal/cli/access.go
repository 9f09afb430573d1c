package cli

import (
	"github.com/gsimc/gsimc/client"
)

// AccessFlags say how a command that calls a server is protected, and who it is. They have other
// names than those of serve, since both may stand in one environment.
type AccessFlags struct {
	TLS             bool   `group:"Access:" name:"tls" help:"Use TLS, and trust the authorities of this system."`
	TLSCA           string `group:"Access:" name:"tls-ca" placeholder:"FILE" help:"Use TLS, and trust the authorities in this file, PEM."`
	TLSServerName   string `group:"Access:" name:"tls-server-name" placeholder:"NAME" help:"Name that the certificate of the server must have. Default: the host of the address."`
	ClientCert      string `group:"Access:" placeholder:"FILE" help:"Certificate of this client, PEM, for a server with --tls-client-ca."`
	ClientKey       string `group:"Access:" placeholder:"FILE" help:"Its key, PEM."`
	ClientTokenFile string `group:"Access:" placeholder:"FILE" help:"Token of this client, in the first line of a file, for a server with --token-file. The variable GSIMC_CLIENT_TOKEN may have the token itself."`
	// A hidden flag has a variable of the environment, and `config print` leaves it out.
	ClientToken client.Token `hidden:"" help:"The token itself, by the variable only: a flag would show it in the list of processes."`
}

// Access reads the files. The error is a fault of one of the flags.
func (f *AccessFlags) Access() (a client.Access, err error) {
	if a.Token = f.ClientToken; f.ClientTokenFile != "" {
		if a.Token, err = client.ReadToken(f.ClientTokenFile); err != nil {
			return a, err
		}
	}
	files := client.TLSFiles{CA: f.TLSCA, ServerName: f.TLSServerName, Cert: f.ClientCert,
		Key: f.ClientKey}
	if f.TLS || files != (client.TLSFiles{}) {
		a.TLS, err = client.LoadTLS(files)
	}
	return a, err
}
