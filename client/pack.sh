#!/usr/bin/env bash
# Packs clients as their registries take them: for python a source distribution and the wheel that
# is made of it, for typescript a package for npm, for java a jar, its sources, its documentation
# and its POM, not signed. Arguments: a folder, and which clients. Needs python3 with venv, npm,
# Java 17 with Maven, and their registries.
set -euo pipefail
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"

python() {
  python3 -m venv .venv
  .venv/bin/pip install -q --no-compile -r requirements.txt
  .venv/bin/python -m build --no-isolation --outdir "$out"
}

typescript() {
  npm install --no-package-lock --no-audit --no-fund --loglevel=error
  npm pack --silent --pack-destination "$out"
}

java() {
  local time=${SOURCE_DATE_EPOCH:+-Dproject.build.outputTimestamp=$SOURCE_DATE_EPOCH}
  mvn --batch-mode --quiet $time clean package
  cp target/gsimc-*.jar "$out"
  local jar=(target/gsimc-*-sources.jar)
  cp pom.xml "$out/$(basename "${jar[0]}" -sources.jar).pom"
}

for client in "${@:2}"; do
  (cd "$client" && "$client")
done
