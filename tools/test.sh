#!/usr/bin/env bash
# Runs every test: in three processes side by side, since most tests wait for programs that they started, or in one when
# arguments choose some of them. Prints what failed and each runner's closing line; everything is in .build/test*.log.
#
# usage: tools/test.sh [ARGUMENT OF swift test…]
set -uo pipefail
cd "$(dirname "$0")/.."
log=.build/test.log
mkdir -p .build
rm -f .build/test*.log

# What a log tells of failures. The seeds come first: where only the end of all output is kept, what failed must be in it.
report() { # LOG STATUS
    grep -E '^TRANSFER_RUN_SEED=.* brings back' "$1"
    # An issue with the lines that belong to it, up to the next test's line.
    awk '
        /^(◇|✔|↳ (Testing Library|Target Platform))/ || /^(TRANSFER_RUN_SEED=|\[[0-9]+\/[0-9]+\])/ { isIssue = 0 }
        /^✘/ { isIssue = !/^✘ (Test run with|Suite)|failed after/ }
        /: error: |^error: |Fatal error|^\*\*\* / { print; next }
        isIssue { print }
    ' "$1" | cut -c -2000
    # Neither a compiler nor a test said a word: whatever came last.
    grep -qE '^✘|: error: |^error: ' "$1" || tail -n 60 "$1"
    echo "test: failed with status $2; everything is in $1"
    grep -E '^✘ Test .* failed after' "$1"
}

closing() { # LOG
    grep -E 'Test run with [0-9]+ tests? in' "$1" || tail -n 5 "$1"
}

if [[ $# -gt 0 ]]; then
    swift test --explicit-target-dependency-import-check error "$@" </dev/null >"$log" 2>&1
    status=$?
    [[ $status -eq 0 ]] || report "$log" "$status"
    closing "$log"
    exit "$status"
fi

if ! swift build --build-tests --disable-index-store --explicit-target-dependency-import-check error </dev/null >"$log" 2>&1; then
    report "$log" 1
    exit 1
fi
tests=$(swift build --show-bin-path)/transfer-runPackageTests.xctest

# Not `swift test`, which holds the build folder for itself. Each test is in exactly one part, whatever is added.
parts=(rooms binary-a-to-f binary-others)
select_tests() { # PART
    case $1 in
        rooms) choice=(--skip '^BinaryTests\.') ;;
        binary-a-to-f) choice=(--filter '^BinaryTests\.[A-F]') ;;
        binary-others) choice=(--filter '^BinaryTests\.' --skip '^BinaryTests\.[A-F]') ;;
    esac
}
pids=()
for part in "${parts[@]}"; do
    select_tests "$part"
    "$tests" --testing-library swift-testing "${choice[@]}" </dev/null >".build/test-$part.log" 2>&1 &
    pids+=($!)
done
failed=0
statuses=()
for pid in "${pids[@]}"; do
    wait "$pid"
    statuses+=($?)
done
for index in "${!parts[@]}"; do
    [[ ${statuses[index]} -eq 0 ]] && continue
    failed=1
    report ".build/test-${parts[index]}.log" "${statuses[index]}"
done
for part in "${parts[@]}"; do closing ".build/test-$part.log"; done
exit "$failed"
