#!/usr/bin/env bash
# Tries the HTML report in a browser, where one can be had (tools/page_test.py).
#
# usage: tools/page.sh BINARY [--picture]
set -euo pipefail
here=$(dirname "$0")
if ! "$here/need.sh" chromium python3 || ! command -v chromium >/dev/null; then
    echo "page: not tried: chromium is not installed, and could not be"
    exit 0
fi
exec python3 -B "$here/page_test.py" "$@"
