#!/bin/sh
# Histories are nobody's to delete but yours: they stay in /var/lib/gsimc, with the user they belong to.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
