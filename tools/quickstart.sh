#!/usr/bin/env bash
# Runs examples/quickstart/quickstart.transfer.yaml against a server of its own on 127.0.0.1 and shows what came of it.
#
# usage: tools/quickstart.sh BINARY
set -euo pipefail
binary=$(realpath "$1")
root=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d "${TMPDIR:-/tmp}/transfer-run-quickstart.XXXXXX")

python3 "$root/examples/server.py" "$root/examples/site" >"$work/port" &
server=$!
trap 'kill $server 2>/dev/null || true; wait $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in {1..100}; do
    [[ -s $work/port ]] && break
    sleep 0.05
done
[[ -s $work/port ]] || { echo "quickstart: the server did not start" >&2; exit 1; }
site="http://127.0.0.1:$(<"$work/port")"

# The job's paths and the report are kept out of the source tree.
cd "$work"
echo "\$ transfer-run examples/quickstart/quickstart.transfer.yaml --set site=$site"
status=0
"$binary" "$root/examples/quickstart/quickstart.transfer.yaml" --set "site=$site" --directory "$work" --report report.json || status=$?
echo
echo "exit status $status"
echo
echo "the report, shortened:"
python3 "$root/tools/show-report.py" report.json
echo
echo "the files:"
find . -type f ! -name port ! -name report.json -printf '  %P  %s bytes\n' | LC_ALL=C sort
exit "$status"
