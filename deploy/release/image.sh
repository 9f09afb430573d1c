#!/bin/sh
# Starts an unpacked image as a container engine would, with a network of its own. Run by TestImage:
#
#	unshare --mount --net --pid --fork sh image.sh ROOT USER FOLDER VARIABLE=VALUE... -- COMMAND...
#
# There is no model: the folder of the volume /models would hold it.
set -eu
chmod 755 "$1" # whatever the umask
root=$1 user=$2 folder=$3
shift 3
ip link set lo up
set -- "GSIMC_INSECURE=true" "$@"
variables=
while [ "$1" != -- ]; do
	[ "${1%%=*}" = GSIMC_MODEL ] || variables="$variables $1"
	shift
done
shift
# inside runs a command in the image.
chroot=$(command -v chroot)
inside() { exec env -i $variables "$chroot" --userspec "$user" "$root" "$@"; }
cd "$root"
(inside "$@" --data-dir "$folder/state" >"$root.log" 2>&1) &
server=$!
fail() { echo "FAILED: $*"; cat "$root.log"; exit 1; }
i=0
until (inside "$1" healthcheck --timeout 2s) >/dev/null 2>&1; do
	kill -0 $server || fail "the server ended"
	[ $((i += 1)) -lt 600 ] || fail "the server did not become healthy"
	sleep 0.1
done
(inside "$1" observe --user alice --item apples) || fail "no event was taken"
kill -TERM $server
wait $server || fail "SIGTERM ended the server with $?"
grep -q '"msg":"drained"' "$root.log" || fail "it did not drain"
echo "ok: probes green, an event taken, drained by SIGTERM"
