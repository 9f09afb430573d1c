#!/bin/sh
# $1 is configure (Debian; $2 the version before) or how many versions there are now (RPM).
set -e
if ! getent passwd gsimc >/dev/null; then
	if command -v systemd-sysusers >/dev/null; then
		systemd-sysusers gsimc.conf
	else
		useradd --system --user-group --home-dir /var/lib/gsimc --shell /usr/sbin/nologin gsimc
	fi
fi
for folder in /var/lib/gsimc /var/lib/gsimc/state; do
	[ -d "$folder" ] || install -d -m 0700 -o gsimc -g gsimc "$folder"
done
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	if [ -n "$2" ] || [ "$1" = 2 ]; then
		systemctl try-restart gsimc.service || true
	fi
fi
