#!/usr/bin/env bash
# The same as JSON over HTTP, of a server with --json-listen. Arguments: HOST:PORT USER
set -euo pipefail
server=http://$1 user=$2

curl -sS -X POST "$server/v1/events" -w '\n' \
  -d '{"userId": "'"$user"'", "itemId": "i019", "eventId": "like-1"}'
curl -sS -X POST "$server/v1/recommend" -w '\n' \
  -d '{"userId": "'"$user"'", "pageSize": 3, "filter": {"denyItemIds": ["i001"]}}'
curl -sS -X POST "$server/v1/items:score" -w '\n' \
  -d '{"userId": "'"$user"'", "itemIds": ["i107"]}'
# An error has a google.rpc.Status as its body, and a status of HTTP that goes with it.
curl -sS -X POST "$server/v1/events" -w ' HTTP %{http_code}\n' \
  -d '{"userId": "'"$user"'"}'
