#!/usr/bin/env bash
# Runs every test. Prints what failed and the closing lines; all the rest is in .build/test.log.
#
# usage: tools/test.sh [ARGUMENT OF swift test…]
set -uo pipefail
cd "$(dirname "$0")/.."
log=.build/test.log
mkdir -p .build

swift test --explicit-target-dependency-import-check error "$@" </dev/null >"$log" 2>&1
status=$?

if [[ $status -ne 0 ]]; then
    # What the compiler or a test complained of, and the seeds that bring a random failure back.
    if ! grep -E '^(✘|↳)|^􀢄|: error:|^error:|^TRANSFER_RUN_SEED=|Fatal error|crash|signal code' "$log"; then
        tail -n 60 "$log"
    fi
    echo "test: failed with status $status; everything is in $log"
fi
# The runner's own last word.
grep -E '^(.) Test run with ' "$log" || tail -n 5 "$log"
exit "$status"
