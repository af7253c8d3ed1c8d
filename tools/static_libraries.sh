#!/usr/bin/env bash
# Collects in .build/static what a build with STATIC=1 links into the program: libcurl, nghttp2, libpsl, libyaml and SQLite,
# with libcurl's headers. Of these the linker finds archives there and no shared libraries.
#
# libcurl is that of this release's backports where they have a later one: Debian 12's own is of February 2023. It is
# unpacked there and not installed, so the machine's libcurl stays as it is. .build/static/contents lists what was taken,
# a line for each archive: PACKAGE VERSION SOURCE-PACKAGE ARCHIVE.
#
# usage: tools/static_libraries.sh
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

root=$PWD/.build/static
package=libcurl4-openssl-dev
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -print-multiarch)
installed=$(dpkg-query -W -f='${Version}' "$package")

# An index of the backports alone, beside the machine's: apt's configuration is not changed. A day old it is asked for anew.
backports() {
    local codename site
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    site=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
        awk -v codename="$codename" '$2 == codename { print $1; exit }')
    [[ -n $codename && -n $site ]] || return 1
    mkdir -p "$root/apt/lists/partial"
    echo "deb $site $codename-backports main" >"$root/apt/sources.list"
    if [[ -z $(find "$root/apt/asked" -mtime -1 2>/dev/null) ]]; then
        apt update >/dev/null || return 1
        touch "$root/apt/asked"
    fi
}
apt() { # WORD…
    apt-get -qq -o Dir::Etc::sourcelist="$root/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$root/apt/lists" -o APT::Sandbox::User=root "$@" </dev/null
}
# The version that the backports have, if it is later than the installed one.
later() {
    local version
    version=$(apt-cache -o Dir::Etc::sourcelist="$root/apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$root/apt/lists" madison "$package" | awk '{ print $3; exit }')
    [[ -n $version ]] && dpkg --compare-versions "$version" gt "$installed" && echo "$version"
}

version=$installed
if backports 2>/dev/null && found=$(later); then
    version=$found
else
    echo "static: no later libcurl in this Debian's backports; $installed is linked" >&2
fi

others=(libnghttp2-dev libpsl-dev libyaml-dev libsqlite3-dev)
made="$version $(dpkg-query -W -f='${Package} ${Version} ' "${others[@]}")"
[[ -e $root/made && $(<"$root/made") == "$made" ]] && exit 0
rm -rf "$root/lib" "$root/include" "$root/unpacked" "$root/made"
mkdir -p "$root/lib" "$root/unpacked"

row() { # PACKAGE VERSION
    local source name=${1%-dev}
    source=$(dpkg-query -W -f='${source:Package}' "$1")
    [[ $1 != "$package" ]] || name=libcurl
    echo "$1 $2 $source $name.a"
}
curl=/usr
if [[ $version != "$installed" ]]; then
    (cd "$root/unpacked" && apt download "$package=$version" && apt download "libcurl4=$version" &&
        for archive in *.deb; do dpkg-deb -x "$archive" .; done && rm -- *.deb)
    curl=$root/unpacked/usr
fi
mkdir -p "$root/include"
cp -rL "$curl/include/$multiarch/curl" "$root/include/"
cp "$curl/lib/$multiarch/libcurl.a" "$root/lib/"
# Read by tools/curl_needs.sh; under this name the linker does not look for it.
cp -L "$curl/lib/$multiarch/libcurl.so" "$root/lib/libcurl.shared"
for other in "${others[@]}"; do cp "/usr/lib/$multiarch/${other%-dev}.a" "$root/lib/"; done
{
    row "$package" "$version"
    for other in "${others[@]}"; do row "$other" "$(dpkg-query -W -f='${Version}' "$other")"; done
} >"$root/contents"
echo "$made" >"$root/made"
