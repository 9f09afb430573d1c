package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"github.com/gsimc/gsimc/internal/cmdline"
	"github.com/gsimc/gsimc/internal/fault"
)

// manifest is the file of a backup that says what is in it.
const manifest = "BACKUP.json"

// The metadata of an object: the SHA-256 of its content in hexadecimal, and of what kind it is, if
// it is not a file.
const (
	sumKey   = "Sha256"
	kindKey  = "Gsimc-Kind"
	ofFolder = "tar"
)

// store is an object store.
type store struct {
	*minio.Client
	log      *slog.Logger
	patience time.Duration
}

// store returns the store of the flags. Nothing is sent to it yet.
func (f *flags) store(log *slog.Logger) (*store, error) {
	at, err := url.Parse(cmp.Or(f.Endpoint, "https://s3.amazonaws.com"))
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" ||
		strings.Trim(at.Path, "/") != "" || at.RawQuery != "" || at.User != nil {
		return nil, &fault.Fault{Field: "Endpoint", // whose text may have a password
			Problem: "is no address alone", Want: "https://HOST[:PORT] or http://HOST[:PORT]"}
	}
	secure := at.Scheme == "https"
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	if err := f.trust(transport); err != nil {
		return nil, err
	}
	c, err := minio.New(at.Host, &minio.Options{Secure: secure, Region: f.Region,
		Transport: transport, Creds: credentials.NewChainCredentials(providers())})
	if err != nil {
		return nil, &fault.Fault{Field: "Endpoint", Got: f.Endpoint, Err: err}
	}
	c.SetAppInfo("gsimc-s3", cmdline.Version(version))
	if keys, err := c.GetCreds(); err != nil || keys.SignerType.IsAnonymous() {
		return nil, errors.Join(err, errors.New("there are no keys of the store: set "+
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of "+
			"~/.aws/credentials, or give the machine a role"))
	}
	return &store{c, log, patience}, nil
}

// providers are asked for the keys of the store, in turn.
func providers() []credentials.Provider {
	all := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		all = append(all, &credentials.IAM{}) // of the machine, by its metadata service
	}
	return all
}

// trust lets the authorities of CAFile alone vouch for the store.
func (f *flags) trust(transport *http.Transport) error {
	if f.CAFile == "" {
		return nil
	}
	text, err := os.ReadFile(f.CAFile)
	if err != nil {
		return &fault.Fault{Field: "CAFile", Err: fault.PathError(err)}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return fault.New("CAFile", f.CAFile, "certificates in PEM")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	return nil
}

// place is where an object is.
type place struct {
	bucket, key string
}

// placeOf reads s3://BUCKET/KEY. Names of old buckets of AWS, and of buckets of other stores, may
// have capitals and underscores.
func placeOf(field, text string) (place, error) {
	rest, is := strings.CutPrefix(text, "s3://")
	bucket, key, _ := strings.Cut(rest, "/")
	if !is || key == "" || path.Clean("/"+key) != "/"+key {
		return place{}, fault.New(field, text, "s3://BUCKET/KEY")
	}
	if err := s3utils.CheckValidBucketName(bucket); err != nil {
		return place{}, &fault.Fault{Field: field, Got: text, Problem: "names no bucket:", Err: err}
	}
	return place{bucket, key}, nil
}

func (p place) String() string { return "s3://" + p.bucket + "/" + p.key }

// told adds to an error about an object its place, and what to do.
func told(at place, err error) error {
	if errors.As(err, new(*fault.Fault)) {
		return fault.In(at.String(), err)
	}
	advice := advices[minio.ToErrorResponse(err).Code]
	switch {
	case errors.As(err, new(*tls.CertificateVerificationError)):
		advice = "set --ca-file to the authorities of the store"
	case errors.As(err, new(*url.Error)):
		advice = "look at --endpoint, and at whether the store runs"
	}
	if advice != "" {
		err = fmt.Errorf("%w (%s)", err, advice)
	}
	return fault.In(at.String(), err)
}

const lookAtKeys = "look at the keys of the store, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, " +
	"and at their right to read or write the object"

// advices are what to do about errors of a store, by their codes.
var advices = map[string]string{
	minio.NoSuchBucket: "make the bucket, or name another one",
	minio.AccessDenied: lookAtKeys, "InvalidAccessKeyId": lookAtKeys,
	"SignatureDoesNotMatch": lookAtKeys, "ExpiredToken": lookAtKeys,
	"AuthorizationHeaderMalformed": "set --region to that of the bucket",
	minio.PreconditionFailed:       "it was replaced meanwhile: run the command again",
	"RequestTimeTooSkewed":         "set the clock of this machine",
}
