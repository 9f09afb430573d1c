#!/usr/bin/env bash
# Packs clients as their registries take them: for python a source distribution and the wheel that
# is made of it, for typescript a package for npm. Arguments: a folder, and which clients. Needs
# python3 with venv, npm and their registries.
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

for client in "${@:2}"; do
  (cd "$client" && "$client")
done
