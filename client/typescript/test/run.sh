#!/usr/bin/env bash
# Installs the package of $SCRATCH/packages in an empty folder outside of the source tree, runs its
# tests there and then the example. Arguments: HOST:PORT USER. GSIMC is the program of the servers
# of the tests, and SCRATCH has their model; Go makes their certificate.
set -euo pipefail
package=$PWD here=$SCRATCH/typescript
mkdir "$here"
cp example/* test/client.test.mjs "$here"
cd "$here"
echo '{ "private": true, "type": "module" }' >package.json
npm install --offline --no-audit --no-fund --loglevel=error "$SCRATCH"/packages/*.tgz >&2
"$package/node_modules/.bin/tsc"
go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" --host 127.7.1.9,127.0.0.1 --ca \
  --ecdsa-curve P256 >/dev/null 2>&1
NODE_EXTRA_CA_CERTS=cert.pem \
  node --test --experimental-vm-modules client.test.mjs >tests.log ||
  { cat tests.log >&2; exit 1; }
node example.js "http://$1" "$2"
