#!/usr/bin/env bash
# Looks for bytes that a parser cannot bear, led by what its code does with them (libFuzzer), from the corpora of
# Tests/ParserFuzzingTests. What it finds is in .build/fuzz/findings, and the corpora grow in .build/fuzz/corpus.
#
# usage: tools/fuzz.sh SECONDS [PARSER…]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=$1
shift
parsers=("$@")
corpora=Tests/ParserFuzzingTests/Corpus
[[ ${#parsers[@]} -gt 0 ]] || mapfile -t parsers < <(ls "$corpora")
each=$((seconds / ${#parsers[@]} + 1))

export TRANSFER_RUN_FUZZ=1
swift build -c release --sanitize fuzzer --scratch-path .build/fuzz --product parser-fuzz
mkdir -p .build/fuzz/findings
failed=()
for parser in "${parsers[@]}"; do
    mkdir -p ".build/fuzz/corpus/$parser"
    echo "$parser: $each s"
    TRANSFER_RUN_FUZZED=$parser SWIFT_BACKTRACE=enable=no .build/fuzz/release/parser-fuzz \
        -max_total_time="$each" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -verbosity=0 -close_fd_mask=1 \
        -artifact_prefix=".build/fuzz/findings/$parser-" ".build/fuzz/corpus/$parser" "$corpora/$parser" </dev/null ||
        failed+=("$parser")
done
[[ ${#failed[@]} -eq 0 ]] && echo "no parser broke" && exit
echo "broken: ${failed[*]}; the bytes are in .build/fuzz/findings"
exit 1
