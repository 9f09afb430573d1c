#!/bin/sh
# $1 is remove (Debian) or 0 (RPM) unless another version follows.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
	if [ -d /run/systemd/system ]; then
		systemctl disable --now gsimc.service || true
	fi
fi
