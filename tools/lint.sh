#!/usr/bin/env bash
# What the compiler does not check. Every finding is `file:line: what`; the status is 1 when there was one.
# At the end stand the rooms with their sizes and with how many others import them, and the ten largest types.
#
# usage: tools/lint.sh [--linkage]    (with --linkage only what the release binary is linked to, which must be there)
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

# Longest file and longest function, longest type over all its extensions, and its stored properties; the share of all lines
# above which a room should be two.
file_limit=700
function_limit=100
type_limit=1500
property_limit=20
room_share=20
# Of a room's `package` declarations, the percentage that may be without a doc comment.
undocumented_limit=5

# Types above `type_limit` or `property_limit` that may be: records of data, and tables of keys, with what each is.
declare -A large_types=(
    [JobLoader/Sections]="the table of a job file's keys, without state"
    [AttemptLife/AttemptRules]="record: what the job's rules want of one attempt"
    [CommandLineTool/RunOptions]="record: a run's flags, one property each"
    [CurlCore/CurlMetrics]="record: libcurl's measurements of a request"
    [Exports/ReportedTask]="record: a task of the report, one property a member"
    [Scheduling/SchedulingPlan]="record: a job in numbers"
    [Scheduling/TaskState]="record: one task as the scheduler sees it"
    [Simulation/Flight]="record: one attempt in the simulated world"
    [TestSupport/WorldAudit.OriginPage]="record: an origin as the audit sees it"
    [TestSupport/WorldAudit.Page]="record: a task as the audit sees it"
    [TransferEngine/Attempt]="record: the values that participants keep of one attempt, and what libcurl calls"
    [TransferEngine/Participants]="the list of participants"
    [TransferModel/SessionConfiguration]="record: a session's keys in the job file"
    [TransferModel/TaskOptions.Values]="record: a task's keys in the job file"
    [TransferModel/TaskPast]="record: what a journal says about a task"
    [TransferModel/TransactionMetrics]="record: one request's times and counts, as the report names them"
)

# NOT YET: types above the bounds that are to be divided. A row goes when its type has been; none may be added, and the list
# goes with its last row.
not_yet=(
    Reporting/JSONReport
    Reporting/TaskAttempts
    TestSupport/WorldAudit
)

# Rooms in which doc comments may still begin with "Of", "By", "It", "Those" or "The same" instead of what they are about. A
# room goes when it has none left; none may be added.
opening_rooms=(
)

# How many declarations of types and members a room may have without a doc comment that are neither private nor `package`:
# what the rest of the room reads. A number may only become smaller, and does when it is more than ten too high.
declare -A undocumented_bounds=(
    [JobLoader]=721
    [TransferEngine]=241
    [Scheduling]=213
    [TestSupport]=205
    [Exports]=157
    [CommandLineTool]=142
    [Reporting]=123
    [FileDelivery]=119
    [HTTPRules]=119
    [Stores]=101
    [CurlCore]=97
    [BackgroundService]=86
    [JobImport]=81
    [Simulation]=68
    [JobRunner]=52
    [YAMLTree]=46
    [Records]=35
    [NetworkConditions]=33
    [RunControl]=27
    [RowFormats]=27
    [TextFormats]=24
    [TransferModel]=23
    [SimulatedJobs]=22
    [Codecs]=19
    [response-fuzz]=19
    [transfer-run-bench]=17
    [AttemptLife]=16
    [service-check]=15
    [FileVerification]=9
    [simulation-check]=9
    [Diagnostics]=8
    [SystemIO]=7
    [Digests]=3
    [journal-check]=2
    [transfer-run]=2
    [LockFiles]=1
    [Planning]=1
    [ServiceUnits]=1
)

# Which targets may see a C module: docs/architecture.md says why.
declare -A c_rooms=(
    [CLibcurl]="CurlCore TransferModelTests"
    [CLibYAML]="YAMLTree"
    [CSQLite]="Stores"
    [CLibSSL]="Digests CurlCore TestSupport"
    [CXXHash]="Digests"
    [CLibIDN2]="TransferModel"
    [CLibPSL]="HTTPRules"
    [CPCRE2]="TextFormats"
    [CZlib]="Codecs TestSupport"
    [CBrotli]="Codecs"
    [CZstd]="Codecs TestSupport"
    [CLZMA]="Codecs TestSupport"
    [CBrotliEncoder]="TestSupport"
    [CLinuxShims]="SystemIO"
    [CSystemBus]="NetworkConditions"
    [CReportPage]="Exports"
    [CTestShims]="TestSupport"
    [CAllocationCounter]="transfer-run-bench"
)
problems=$(mktemp)
measured=$(mktemp)
trap 'rm -f "$problems" "$measured"' EXIT
mapfile -t sources < <(find Sources -name '*.swift' | sort)
mapfile -t all < <(find Sources Tests -name '*.swift' | sort)

report() { cat >>"$problems"; }

check_format() {
    # Its own `path:line:column: error: [Rule] what`, made relative.
    swift format lint --strict --parallel --recursive Sources Tests Package.swift 2>&1 | sed "s|^$PWD/||" | report
}

# An import statement with whatever stands before it: an access level, an attribute.
readonly importing='^[[:space:]]*((@[A-Za-z()]+|public|package|internal|fileprivate|private)[[:space:]]+)*import[[:space:]]+((struct|class|enum|func|var|let|typealias|protocol)[[:space:]]+)?'

check_c_imports() {
    local line file module room
    while IFS= read -r line; do
        file=${line%%:*}
        module=$(sed -E 's/.*import[[:space:]]+(([a-z]+)[[:space:]]+)?([A-Za-z0-9]+).*/\3/' <<<"$line")
        room=$(cut -d/ -f2 <<<"$file")
        if [[ -z ${c_rooms[$module]+known} ]]; then
            echo "$(cut -d: -f1,2 <<<"$line"): the C module $module stands in no row of tools/lint.sh"
        elif [[ " ${c_rooms[$module]} " != *" $room "* ]]; then
            echo "$(cut -d: -f1,2 <<<"$line"): $room may not import $module; only ${c_rooms[$module]// /, } may"
        fi
    done < <(grep -HnE "${importing}C[A-Z][A-Za-z0-9]*[[:space:]]*(//.*)?$" "${all[@]}" | grep -vE 'import[[:space:]]+C(urlCore|ommandLineTool|odecs|onditions)\b') | report
}

check_forbidden() {
    # Foundation: tens of megabytes and milliseconds, and a second URL parser.
    grep -HnE "${importing}(Foundation|FoundationNetworking)([.[:space:]]|$)" "${sources[@]}" |
        sed -E 's/^([^:]*:[0-9]+):.*/\1: imports Foundation/' | report
    grep -HnE '\b(TODO|FIXME)\b|\btry!|\bfatalError\(' "${sources[@]}" |
        sed -E 's/^([^:]*:[0-9]+):[[:space:]]*(.*)/\1: not allowed here: \2/' | report
    # A silenced check needs its proof in a comment, no more than three lines away.
    awk '
        function judge(  i, near, reason) {
            for (i = 1; i <= count; i++) {
                if (text[i] !~ /@unchecked +Sendable|nonisolated\(unsafe\)/ || text[i] ~ /^ *\/\//) continue
                reason = 0
                for (near = i - 3; near <= i + 3; near++) if (text[near] ~ /\/\//) reason = 1
                if (!reason) print path ":" i ": says `unsafe` or `@unchecked` without a reason beside it"
            }
        }
        FNR == 1 { judge(); path = FILENAME; delete text }
        { text[FNR] = $0; count = FNR }
        END { judge() }
    ' "${sources[@]}" | report
}

check_sizes() {
    awk -f tools/measure.awk -v fileLimit=$file_limit -v functionLimit=$function_limit "${all[@]}" >"$measured"
    sed -n 's/^long //p' "$measured" | report
}

check_types() {
    local lines properties files name allowed=" ${!large_types[*]} ${not_yet[*]} " seen=" "
    while read -r lines properties files name; do
        if ((lines <= type_limit && properties <= property_limit)); then continue; fi
        seen+="$name "
        [[ $allowed == *" $name "* ]] && continue
        echo "Sources/${name%%/*}:1: ${name#*/} has $lines lines and $properties stored properties in $files files, the limits are $type_limit and $property_limit"
    done < <(awk -f tools/types.awk "${sources[@]}") >>"$problems"
    for name in $allowed; do
        [[ $seen == *" $name "* ]] || echo "tools/lint.sh:1: $name is within the limits of a type: its row can go" | report
    done
}

check_documentation() {
    local documented
    documented=$(mktemp)
    awk -f tools/undocumented.awk -v limit=$undocumented_limit "${sources[@]}" >"$documented"
    sed -n 's/^finding //p' "$documented" | report
    local kind room value
    while read -r kind room value; do
        local bound=${undocumented_bounds[$room]:-0}
        if ((value > bound)); then
            echo "Sources/$room:1: $value declarations have no doc comment, the room's bound is $bound"
        elif ((value < bound - 10)); then
            echo "tools/lint.sh:1: in $room only $value declarations have no doc comment: lower its bound of $bound"
        fi
    done < <(grep '^internal ' "$documented") >>"$problems"
    local listed=" ${opening_rooms[*]} " found=" "
    while read -r kind room value; do
        found+="$room "
        [[ $listed == *" $room "* ]] || echo "$value: the comment does not begin with what it is about"
    done < <(grep '^opening ' "$documented") >>"$problems"
    for room in $listed; do
        [[ $found == *" $room "* ]] || echo "tools/lint.sh:1: no comment of $room begins wrongly: its row can go" | report
    done
    rm -f "$documented"
}

check_linkage() {
    local binary=${SWIFTPM_BUILD_DIR:-.build}/release/transfer-run
    if [[ ! -x $binary ]]; then
        if [[ $1 == required ]]; then echo "$binary:1: is not built" | report; fi
        echo "lint: $binary is not built: its linkage was not checked"
        return
    fi
    # Only a program without libcurl in it names the library.
    local static=1
    if grep -qaF libcurl.so.4 "$binary"; then static=; fi
    ldd "$binary" | awk -v binary="$binary" -v isStatic="$static" '
        /libFoundation|lib_Foundation|libswift|libdispatch|libBlocksRuntime/ { print binary ":1: links " $1 " dynamically" }
        /libsqlite3|libyaml/ && isStatic { print binary ":1: links " $1 ", of which STATIC=1 links the archive" }
        /libcurl/ { print binary ":1: links libcurl, which is loaded when it is called (Sources/CLibcurl)" }
        /libssl|libcrypto|libpsl|libidn2|libpcre2|libbrotli|libzstd|liblzma|libnghttp2|libssh2|librtmp|libldap|liblber|libgssapi/ { print binary ":1: links " $1 ", which is fetched when it is called (Sources/CLateBinding)" }
        /libsystemd/ { print binary ":1: links libsystemd, which is opened only when somebody asks (Sources/CSystemBus)" }' | report
}

# Lines, medians and fan-in of each room that ships or supports.
print_rooms() {
    local room fan
    echo "room                 files  lines  share  median file  median function  imported by"
    for room in $(find Sources -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort); do
        find "Sources/$room" -name '*.swift' | grep -q . || continue
        fan=$(grep -lE "${importing}$room([.[:space:]]|$)" "${sources[@]}" | cut -d/ -f2 | sort -u | grep -cvx "$room")
        echo "$room $fan"
    done | awk -v share=$room_share '
        function median(list, n,    i, j, value, sorted) {
            for (i = 1; i <= n; i++) {
                value = list[i]
                for (j = i - 1; j >= 1 && sorted[j] > value; j--) sorted[j + 1] = sorted[j]
                sorted[j + 1] = value
            }
            return n == 0 ? 0 : n % 2 ? sorted[(n + 1) / 2] : (sorted[n / 2] + sorted[n / 2 + 1]) / 2
        }
        function pick(values, prefix, n,    i) { split("", picked); for (i = 1; i <= n; i++) picked[i] = values[prefix, i] }
        FNR == NR {
            if ($1 == "file") { files[$2, ++fileCount[$2]] = $3; lines[$2] += $3 }
            if ($1 == "function") functions[$2, ++functionCount[$2]] = $3
            next
        }
        { order[++rooms] = $1; fan[$1] = $2; total += lines[$1] }
        END {
            for (r = 1; r <= rooms; r++) {
                name = order[r]
                pick(files, name, fileCount[name]); fileMedian = median(picked, fileCount[name])
                pick(functions, name, functionCount[name]); functionMedian = median(picked, functionCount[name])
                printf "%-20s %5d %6d %5.1f%% %12.1f %16.1f %12d%s\n", name, fileCount[name], lines[name], \
                    100 * lines[name] / total, fileMedian, functionMedian, fan[name], \
                    (100 * lines[name] / total > share ? "  <- more than " share " % of all lines: two rooms?" : "")
            }
            printf "%-20s %5s %6d\n", "all", "", total
        }' "$measured" -
    awk '$1 == "file" { n += $3 } END { print "Sources and Tests together: " n " lines" }' "$measured"
}

print_types() {
    echo
    echo "lines  properties  files  the ten largest types"
    awk -f tools/types.awk "${sources[@]}" | head -n 10 | awk '{ printf "%5d %11d %6d  %s\n", $1, $2, $3, $4 }'
}

if [[ ${1:-} == --linkage ]]; then
    check_linkage required
else
    check_format
    check_c_imports
    check_forbidden
    check_sizes
    check_types
    check_documentation
    check_linkage optional
    print_rooms
    print_types
fi
if [[ -s $problems ]]; then
    echo
    sort -u "$problems"
    echo "lint: $(sort -u "$problems" | wc -l) findings"
    exit 1
fi
echo "lint: nothing found"
