#!/usr/bin/env bash
# Makes sure that Debian packages are installed: installs those that are missing and says which.
# Without root it prints the line to run and ends with 1.
#
# usage: tools/need.sh PACKAGE…
set -euo pipefail

if ! command -v dpkg-query >/dev/null; then
    echo "need: this is no Debian; taking for granted what $* bring" >&2
    exit 0
fi

missing=()
for package in "$@"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

if [[ $(id -u) -ne 0 ]]; then
    echo "need: missing packages; run: sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
fi

echo "need: installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install_missing() { apt-get install -qq -y --no-install-recommends "${missing[@]}" </dev/null >"$log" 2>&1; }
# A fresh machine has no lists, an old one stale ones.
if ! install_missing; then
    if ! { apt-get update -qq </dev/null >"$log" 2>&1 && install_missing; }; then
        cat "$log" >&2
        echo "need: could not install ${missing[*]}" >&2
        exit 1
    fi
fi
