package main

import (
	"os"

	"github.com/gsimc/gsimc/client"
)

// tokenVariable is the environment variable with a token: a flag would show it in the list of
// processes.
const tokenVariable = "GSIMC_CLIENT_TOKEN"

// accessFlags say how a connection to a server is protected, and who this program is. They are
// those of the commands of gsimc that call a server.
type accessFlags struct {
	TLS             bool   `group:"Access:" name:"tls" help:"Use TLS, and trust the authorities of this system."`
	TLSCA           string `group:"Access:" name:"tls-ca" placeholder:"FILE" help:"Use TLS, and trust the authorities in this file, PEM."`
	TLSServerName   string `group:"Access:" name:"tls-server-name" placeholder:"NAME" help:"Name that the certificate of the server must have. Default: the host of the address."`
	ClientCert      string `group:"Access:" placeholder:"FILE" help:"Certificate of this client, PEM, for a server with --tls-client-ca."`
	ClientKey       string `group:"Access:" placeholder:"FILE" help:"Its key, PEM."`
	ClientTokenFile string `group:"Access:" placeholder:"FILE" help:"Token of this client, in the first line of a file, for a server with --token-file. The variable GSIMC_CLIENT_TOKEN may have the token itself."`
}

// access reads the files. The error is a fault of one of the flags.
func (f *accessFlags) access() (a client.Access, err error) {
	if a.Token = client.Token(os.Getenv(tokenVariable)); f.ClientTokenFile != "" {
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
