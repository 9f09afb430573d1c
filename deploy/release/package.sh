#!/bin/sh
# Installs, starts, upgrades and removes a package of gsimc as an administrator would: over a copy of
# this machine that ends with the script, whose network is its own. Run by TestPackage:
#
#	unshare --mount --net --pid --fork sh package.sh FOLDER NEW.deb
set -eu
umask 022
work=$1 new=$2
mount -t tmpfs none "$work"
mkdir "$work/upper" "$work/work" "$work/root"
mount -t overlay none -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$work/root"
mkdir -p "$work/root/packages"
cp "$new" "$work/root/packages/new.deb"
mount -t proc proc "$work/root/proc"
mount --rbind /dev "$work/root/dev"
ip link set lo up

cat >"$work/root/packages/try.sh" <<'END'
set -eu
unset GSIMC_INSECURE
fail() { echo "FAILED: $*"; cat /packages/log 2>/dev/null || true; exit 1; }
# start runs the line of the unit as its user; systemd would do the same, and take more away.
start() {
	line=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/gsimc.service)
	(cd / && exec setpriv --reuid gsimc --regid gsimc --clear-groups $line >>/packages/log 2>&1) &
	server=$!
	for i in $(seq 600); do
		gsimc healthcheck --timeout 2s >/dev/null 2>&1 && return
		kill -0 $server || fail "the server ended"
		sleep 0.1
	done
	fail "the server did not become healthy"
}
stop() {
	kill -TERM $server
	wait $server || fail "SIGTERM ended the server with $?"
}

# dpkg would wait for the disk after each file; this copy ends with the script.
dpkg() { command dpkg --force-unsafe-io "$@"; }

# The version before is the same with other settings, so that an upgrade meets settings that changed
# on both sides.
dpkg-deb --raw-extract /packages/new.deb /packages/old
sed -i 's/^Version: .*/Version: 0.0.1-1/' /packages/old/DEBIAN/control
sed -i '$a # of the version before' /packages/old/etc/gsimc/gsimc.yaml
dpkg-deb -Znone --build /packages/old /packages/old.deb
dpkg -i /packages/old.deb
[ "$(stat -c '%U %a' /var/lib/gsimc)" = "gsimc 700" ] || fail "/var/lib/gsimc is not the user's alone"
gsimc help | head -1
for f in man/man1/gsimc.1.gz bash-completion/completions/gsimc zsh/vendor-completions/_gsimc \
	doc/gsimc/copyright; do
	[ -s /usr/share/$f ] || dpkg --listfiles gsimc | grep -q "/usr/share/$f" || fail "no $f"
done
if command -v systemd-analyze >/dev/null; then
	unit=/usr/lib/systemd/system/gsimc.service
	said=$(systemd-analyze verify --man=no $unit 2>&1) || fail "$said"
	case $said in *gsimc.service:*) fail "$said" ;; esac
	echo "ok: systemd-analyze verify"
fi
start
gsimc observe --user alice --item apples
stop
echo "ok: installed and served as gsimc"

echo "# mine" >>/etc/gsimc/gsimc.yaml
dpkg --force-confold -i /packages/new.deb
grep -q "^# mine" /etc/gsimc/gsimc.yaml || fail "the upgrade replaced the settings"
[ -e /etc/gsimc/gsimc.yaml.dpkg-dist ] ||
	fail "the upgrade did not lay the new settings beside them"
start
gsimc user events --user alice | grep -q apples || fail "the upgrade lost the event"
stop
echo "ok: upgraded with settings and data in place"

dpkg -r gsimc
[ ! -e /usr/bin/gsimc ] || fail "the program stayed"
[ -e /etc/gsimc/gsimc.yaml ] || fail "removing took the settings"
dpkg -P gsimc
[ -n "$(ls /var/lib/gsimc/state)" ] || fail "removing took the data"
echo "ok: removed, the data stayed"
END
exec chroot "$work/root" sh /packages/try.sh
