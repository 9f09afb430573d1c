#!/usr/bin/env bash
# Packs the package, installs that in an empty folder outside of the source tree, runs its tests
# there and then the example. Arguments: HOST:PORT USER. SCRATCH is a folder that has a model for
# the servers of the tests; Go makes their certificate.
set -euo pipefail
package=$PWD here=$SCRATCH/typescript
mkdir "$here"
cp example/* test/client.test.mjs "$here"
npm pack --silent --pack-destination "$here" >"$here/packed"
cd "$here"
echo '{ "private": true, "type": "module" }' >package.json
npm install --offline --no-audit --no-fund --loglevel=error "./$(cat packed)" >&2
"$package/node_modules/.bin/tsc"
go run "$(go env GOROOT)/src/crypto/tls/generate_cert.go" --host 127.7.1.9,127.0.0.1 --ca \
  --ecdsa-curve P256 >/dev/null 2>&1
GSIMC=$package/../../bin/gsimc NODE_EXTRA_CA_CERTS=cert.pem \
  node --test --experimental-vm-modules client.test.mjs >tests.log ||
  { cat tests.log >&2; exit 1; }
node example.js "http://$1" "$2"
