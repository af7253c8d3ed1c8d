#!/usr/bin/env bash
# What .build/static/lib/libcurl.a and libpsl.a call of other libraries than the C library, zlib and nghttp2, as
# Sources/CLibcurl reads it in a build with STATIC=1: for each library a line for it, and one for each function. The libraries
# are those that libcurl.so, of the same package, is linked to.
#
# Libraries for protocols that the program does not speak are never loaded: what libcurl calls of them when it is made ready,
# and when it tells its version, gets an answer here. So does what libpsl calls of libunistring, to read a list from a file.
#
# usage: tools/curl_needs.sh FILE    (written anew only where it changes; tools/static_libraries.sh comes first)
set -euo pipefail
export LC_ALL=C

target=$1
cd "$(dirname "$0")/.."
archives=(.build/static/lib/libcurl.a .build/static/lib/libpsl.a)
shared=.build/static/lib/libcurl.shared
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nm --defined-only "${archives[@]}" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$work/own"
nm --undefined-only "${archives[@]}" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u | comm -23 - "$work/own" >"$work/open"

# NAME FILE of each library.
places() { ldd "$shared" | awk '$2 == "=>" { print $1, $3 }'; }
# KIND NAME of what a library offers, without versions: T for a function, D for data.
offers() {
    nm --dynamic --defined-only "$1" | awk '{ name = $3; sub(/@.*/, "", name)
        if ($2 ~ /[TWi]/) print "T", name; else if ($2 ~ /[BDRV]/) print "D", name }'
}

{
    echo "// Made by tools/curl_needs.sh."
    number=0
    # What comes first is what a handshake needs, then what signing in needs.
    readelf --dynamic "$shared" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libz|libnghttp2|libpsl|libpthread|libdl|libm|ld-linux.*)\.so' |
        awk '{ order = /^libcrypto/ ? 1 : /^libssl/ ? 2 : /^libgssapi/ ? 3 : 4; print order, $0 }' |
        sort -n | cut -d' ' -f2 >"$work/libraries"
    places | awk '$1 ~ /^libunistring/ { print $1 }' >>"$work/libraries"
    while read -r library; do
        place=$(places | awk -v name="$library" '$1 == name { print $2 }')
        offers "$place" | sort -u >"$work/offered"
        awk '$1 == "T" { print $2 }' "$work/offered" | sort -u | comm -12 - "$work/open" >"$work/functions"
        awk '$1 == "D" { print $2 }' "$work/offered" | sort -u | comm -12 - "$work/open" >"$work/data"
        comm -23 "$work/open" "$work/functions" | comm -23 - "$work/data" >"$work/rest"
        mv "$work/rest" "$work/open"
        [[ -s $work/functions || -s $work/data ]] || continue
        case $library in
            libssh2.* | librtmp.* | libunistring.*) answer=0 ;;
            libldap* | liblber*) answer=-1 ;;
            *) answer= ;;
        esac
        # Its forms of normalisation are only handed on to its functions.
        if [[ $library == libunistring.* ]]; then
            cat "$work/data" >>"$work/functions"
            : >"$work/data"
        fi
        if [[ -n $answer ]]; then
            [[ ! -s $work/data ]] || { echo "curl_needs: libcurl reads data of $library, which is not loaded" >&2; exit 1; }
            sed "s/.*/ANSWERED(&, $answer)/" "$work/functions"
            continue
        fi
        echo "LIBRARY($library, library_$number)"
        sed "s/.*/LATE(&, library_$number)/" "$work/functions"
        sed "s/.*/DATA(&, \"$library\")/" "$work/data"
        number=$((number + 1))
    done <"$work/libraries"
} >"$work/table"

if ! cmp -s "$work/table" "$target"; then cp "$work/table" "$target"; fi
