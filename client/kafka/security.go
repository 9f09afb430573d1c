package main

import (
	"crypto/tls"
	"errors"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/gsimc/gsimc/client"
	"github.com/gsimc/gsimc/internal/fault"
)

// security says how Kafka is reached.
type security struct {
	KafkaTLS           bool         `name:"kafka-tls" help:"Use TLS to the brokers, and trust the authorities of this system."`
	KafkaTLSCA         string       `name:"kafka-tls-ca" placeholder:"FILE" help:"Use TLS to the brokers, and trust the authorities in this file, PEM."`
	KafkaTLSServerName string       `name:"kafka-tls-server-name" placeholder:"NAME" help:"Name that the certificates of the brokers must have. Default: the host of each."`
	KafkaClientCert    string       `name:"kafka-client-cert" placeholder:"FILE" help:"Certificate of this client for the brokers, PEM."`
	KafkaClientKey     string       `name:"kafka-client-key" placeholder:"FILE" help:"Its key, PEM."`
	SASL               string       `name:"sasl" enum:",plain,scram-sha-256,scram-sha-512" default:"" placeholder:"MECHANISM" help:"Log in to the brokers: plain, scram-sha-256 or scram-sha-512."`
	SASLUser           string       `name:"sasl-user" placeholder:"NAME" help:"User of --sasl."`
	SASLPasswordFile   string       `name:"sasl-password-file" placeholder:"FILE" help:"Password of --sasl, in the first line of a file. The variable GSIMC_SASL_PASSWORD may have the password itself."`
	SASLPassword       client.Token `name:"sasl-password" hidden:"" help:"The password itself, by the variable only."`
}

func (f *security) options() (options []kgo.Opt, err error) {
	files := client.TLSFiles{CA: f.KafkaTLSCA, ServerName: f.KafkaTLSServerName,
		Cert: f.KafkaClientCert, Key: f.KafkaClientKey}
	if f.KafkaTLS || files != (client.TLSFiles{}) {
		config, err := client.LoadTLS(files)
		if err != nil {
			return nil, kafkaFault(err)
		}
		config.MinVersion = tls.VersionTLS12 // brokers on old JVMs
		options = append(options, kgo.DialTLSConfig(config))
	}
	switch alone := "goes with a mechanism: set --sasl"; {
	case f.SASL != "":
	case f.SASLUser != "":
		return nil, &fault.Fault{Field: "SASLUser", Problem: alone}
	case f.SASLPasswordFile != "":
		return nil, &fault.Fault{Field: "SASLPasswordFile", Problem: alone}
	default:
		return options, nil
	}
	mechanism, err := f.login()
	return append(options, kgo.SASL(mechanism)), err
}

// login returns the mechanism with user and password.
func (f *security) login() (sasl.Mechanism, error) {
	password := string(f.SASLPassword)
	if f.SASLPasswordFile != "" {
		text, err := os.ReadFile(f.SASLPasswordFile)
		if err != nil {
			return nil, &fault.Fault{Field: "SASLPasswordFile", Err: err}
		}
		password, _, _ = strings.Cut(string(text), "\n")
		password = strings.TrimSuffix(password, "\r")
	}
	switch {
	case f.SASLUser == "":
		return nil, &fault.Fault{Field: "SASLUser", Problem: "is missing"}
	case password == "":
		return nil, &fault.Fault{Field: "SASLPasswordFile", Problem: "there is no password"}
	}
	switch f.SASL {
	case "plain":
		return plain.Auth{User: f.SASLUser, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: f.SASLUser, Pass: password}.AsSha256Mechanism(), nil
	}
	return scram.Auth{User: f.SASLUser, Pass: password}.AsSha512Mechanism(), nil
}

// kafkaFault gives a fault of the files of TLS the field of Kafka.
func kafkaFault(err error) error {
	if e := new(fault.Fault); errors.As(err, &e) {
		e.Field = "Kafka" + e.Field
		for i := range e.Advice {
			e.Advice[i].Field = "Kafka" + e.Advice[i].Field
		}
	}
	return err
}

// flagOf returns the flag of a field: DeadLetter is --dead-letter.
func flagOf(field string) string {
	if field == "KafkaTLSCA" {
		return "--kafka-tls-ca"
	}
	return client.FlagOf(field)
}
