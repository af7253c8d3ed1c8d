#!/usr/bin/env bash
# Builds the program in another Debian and tries it there: the quickstart, then tests. With --deb it makes the package for that
# Debian instead, and puts it into .build/package.
# That Debian lies in .build/debian-SUITE and is made once; the Swift of this machine is mounted into it.
#
# usage: tools/other-debian.sh [SUITE [ARGUMENT OF swift test…]]      such as: tools/other-debian.sh trixie --filter FTPTests
#        tools/other-debian.sh --deb SUITE
set -euo pipefail
cd "$(dirname "$0")/.."

commands='make run && make test-tools && tools/test.sh "$@"'
deb=
if [[ ${1:-} == --deb ]]; then
    deb=yes
    commands='make deb'
    shift
fi
suite=${1:-trixie}
[[ $# -eq 0 ]] || shift
# Without arguments: what talks to servers.
[[ $# -gt 0 ]] || set -- --filter BinaryTests --filter CurlCoreTests --filter TransferEngineTests

place=$PWD/.build/debian-$suite
swift=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")

if [[ $(id -u) -ne 0 ]]; then
    [[ -z $deb ]] || { echo "other-debian: only root can mount another Debian" >&2; exit 1; }
    echo "other-debian: skipped: only root can mount another Debian" >&2
    exit 0
fi

# What Swift needs of a Debian; the Makefile installs the rest inside.
if [[ ! -e $place/made ]]; then
    tools/need.sh mmdebstrap
    rm -rf "$place"
    mkdir -p "$place/build"
    mmdebstrap --quiet --variant=minbase \
        --include=make,git,build-essential,pkg-config,libxml2,libcurl4t64,libncurses6,libsqlite3-0,ca-certificates,python3 \
        "$suite" "$place/root" "deb http://deb.debian.org/debian $suite main"
    touch "$place/made"
fi

# A namespace of its own for the mounts: they are gone when it ends, however it ends.
unshare --mount --propagation private -- bash -euo pipefail -c '
    place=$1 swift=$2 commands=$3
    shift 3
    root=$place/root
    mkdir -p "$root/project" "$root/opt/swift"
    mount --bind "$PWD" "$root/project"
    mount --bind "$place/build" "$root/project/.build"
    mount --bind "$swift" "$root/opt/swift"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    exec env -i HOME=/root TERM="${TERM:-dumb}" CI="${CI:-}" LANG=C.UTF-8 \
        PATH=/opt/swift/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" bash -euo pipefail -c "cd /project && $commands" bash "$@"
' bash "$place" "$swift" "$commands" "$@"

if [[ -n $deb ]]; then
    mkdir -p .build/package
    cp "$place"/build/package/transfer-run_*.deb .build/package/
    ls .build/package/transfer-run_*.deb
fi
