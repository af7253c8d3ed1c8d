#!/usr/bin/env bash
# Runs every test. Prints what failed and the runner's closing line; everything is in .build/test.log.
#
# usage: tools/test.sh [ARGUMENT OF swift test…]
set -uo pipefail
cd "$(dirname "$0")/.."
log=.build/test.log
mkdir -p .build

swift test --explicit-target-dependency-import-check error "$@" </dev/null >"$log" 2>&1
status=$?

if [[ $status -ne 0 ]]; then
    # What brings a random failure back. It comes first: where only the end of a log is kept, what failed must be in it.
    grep -E '^TRANSFER_RUN_SEED=.* brings back' "$log"
    # An issue with the lines that belong to it, up to the next test's line.
    awk '
        /^(◇|✔|↳ (Testing Library|Target Platform))/ || /^(TRANSFER_RUN_SEED=|\[[0-9]+\/[0-9]+\])/ { isIssue = 0 }
        /^✘/ { isIssue = !/^✘ (Test run with|Suite)|failed after/ }
        /: error: |^error: |Fatal error|^\*\*\* / { print; next }
        isIssue { print }
    ' "$log" | cut -c -2000
    # Neither a compiler nor a test said a word: whatever came last.
    grep -qE '^✘|: error: |^error: ' "$log" || tail -n 60 "$log"
    echo "test: failed with status $status; everything is in $log"
    grep -E '^✘ Test .* failed after' "$log"
fi
grep -E 'Test run with [0-9]+ tests? in' "$log" || tail -n 5 "$log"
exit "$status"
