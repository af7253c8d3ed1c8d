#!/usr/bin/env bash
# Lays out in .build/static what a build with STATIC=1 links into the program. libcurl, nghttp2, OpenSSL and libpsl are
# compiled here from Debian's source packages, with the parts that the program uses; libyaml and SQLite are the archives of
# this Debian's packages.
#
# tools/static/sources names each source package, its version, and the SHA-256 of its files, which are compared before
# anything is unpacked. `--update` asks Debian for the newest versions and writes that file anew. apt's configuration on
# this machine is not changed. Files are kept in .build/static/sources; one that Debian no longer serves can be put there
# from an archive such as snapshot.debian.org.
#
# The same sources and compiler give archives of the same bytes. .build/static/contents lists what is in them, a line for
# each: SOURCE-PACKAGE VERSION PACKAGE. The package is `-` where the source was compiled here.
#
# usage: tools/static_libraries.sh [--update | --in FOLDER]    (in another folder than .build/static, to compare)
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C TZ=UTC
umask 022

root=$PWD/.build/static
if [[ ${1:-} == --in ]]; then root=$(realpath -m "$2"); fi
lock=$PWD/tools/static/sources
stage=$root/stage
mkdir -p "$root/sources"
fail() { echo "static: $*" >&2; exit 1; }

# Where this machine gets its packages from: `main`, or `security`.
site() { # AREA
    local codename found
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [[ $1 == main ]] || codename+=-security
    found=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
        awk -v codename="$codename" '$2 == codename { print $1; exit }')
    [[ $1 == main ]] || { echo "${found:-http://deb.debian.org/debian-security/}"; return; }
    echo "${found:-http://deb.debian.org/debian/}"
}

# Fetches a file unless it is there; apt compares its digest.
fetch() { # AREA PATH SHA256
    local file=$root/sources/${2##*/}
    if [[ -e $file ]] && sha256sum --quiet --status -c <<<"$3  $file"; then return 0; fi
    rm -f "$file"
    /usr/lib/apt/apt-helper download-file "$(site "$1")$2" "$file" "SHA256:$3" >/dev/null
}

update() {
    local stable=trixie newest=sid
    # What servers reach is that of Debian's stable release: its security team follows it, and `make test-debian` runs with
    # the same libcurl. The list of public suffixes is data, in a package for every machine, and libpsl only reads it.
    local wanted=(curl:stable nghttp2:stable openssl:stable libpsl:newest publicsuffix:data)
    local list package suites version area path sum rows
    asked() { # LIST WORD…
        local list=$root/apt/$1 tool=$2
        shift 2
        "$tool" -qq -o Dir::Etc::sourcelist="$list/sources.list" -o Dir::Etc::sourceparts=/dev/null \
            -o Dir::State::lists="$list/lists" -o Dir::Cache="$list/cache" -o APT::Sandbox::User=root "$@" </dev/null
    }
    for list in stable newest data; do
        mkdir -p "$root/apt/$list/lists/partial" "$root/apt/$list/cache"
        {
            echo "deb-src $(site main) $stable main"
            echo "deb-src $(site security) $stable-security main"
            [[ $list == stable ]] || echo "deb-src $(site main) $newest main"
        } >"$root/apt/$list/sources.list"
        [[ $list != data ]] || echo "deb $(site main) $newest main" >"$root/apt/$list/sources.list"
        asked "$list" apt-get update
    done
    # Lines `VERSION PATH SHA256` of all versions of a package. Signatures are left out: the index's own is checked by apt.
    versions() { # LIST PACKAGE
        if [[ $1 == data ]]; then
            asked "$1" apt-cache show "$2" | awk '/^Version:/ { version = $2 } /^Filename:/ { path = $2 } /^SHA256:/ { print version, path, $2 }'
            return
        fi
        asked "$1" apt-cache showsrc --only-source "$2" | awk '
            /^Version:/ { version = $2 } /^Directory:/ { directory = $2 }
            /^Checksums-Sha256:/ { inside = 1; next } /^[^ ]/ { inside = 0 } NF == 0 { print_all() }
            inside && $3 !~ /\.asc$/ { files[++count] = $1 " " $3 }
            function print_all(   i) { for (i = 1; i <= count; i++) { split(files[i], pair, " "); print version, directory "/" pair[2], pair[1] } count = 0 }
            END { print_all() }' | sort -u
    }
    {
        echo "# Written by \`tools/static_libraries.sh --update\`: packages of Debian, and for each of their files the part of the"
        echo "# archive, its path there and its SHA-256."
        for package in "${wanted[@]}"; do
            suites=${package#*:}
            package=${package%:*}
            rows=$(versions "$suites" "$package")
            # The newest version that is served: indexes are ahead of some mirrors.
            for version in $(awk '{ print $1 }' <<<"$rows" | sort -u | newest_first) ''; do
                [[ -n $version ]] || fail "no version of $package is served"
                while read -r _ path sum; do
                    area=main
                    [[ $path != pool/updates/* ]] || area=security
                    fetch "$area" "$path" "$sum" 2>/dev/null || continue 2
                done < <(awk -v version="$version" '$1 == version' <<<"$rows")
                break
            done
            echo "package $package $version"
            while read -r _ path sum; do
                area=main
                [[ $path != pool/updates/* ]] || area=security
                echo "$area $path $sum"
            done < <(awk -v version="$version" '$1 == version' <<<"$rows")
        done
    } >"$root/sources.new"
    mkdir -p "$(dirname "$lock")"
    mv "$root/sources.new" "$lock"
    grep '^package' "$lock"
}
newest_first() {
    local sorted=() version place
    while read -r version; do
        [[ ! $version =~ ~(rc|beta|alpha) ]] || continue
        for ((place = 0; place < ${#sorted[@]}; place++)); do
            if dpkg --compare-versions "$version" gt "${sorted[place]}"; then break; fi
        done
        sorted=("${sorted[@]:0:place}" "$version" "${sorted[@]:place}")
    done
    printf '%s\n' "${sorted[@]}"
}

if [[ ${1:-} == --update ]]; then
    update
    exit
fi

version_of() { awk -v package="$1" '$1 == "package" && $2 == package { print $3 }' "$lock"; }

others=(libyaml-dev libsqlite3-dev)
made="$(sha256sum <"$lock") $(sha256sum <"$0") $(gcc --version | head -1) $(dpkg-query -W -f='${Package} ${Version} ' "${others[@]}")"
[[ -e $root/made && $(<"$root/made") == "$made" ]] && exit 0
rm -rf "$root/lib" "$root/include" "$root/unpacked" "$stage" "$root/made"
mkdir -p "$root/lib" "$root/include" "$root/unpacked" "$stage/lib/pkgconfig"

while read -r area path sum; do
    case $area in main | security) fetch "$area" "$path" "$sum" || fail "${path##*/} cannot be fetched, or has another SHA-256" ;; esac
done <"$lock"

# Unpacks a package with Debian's patches; the folder is then $source, the time of its changelog SOURCE_DATE_EPOCH.
unpack() { # PACKAGE
    local description version
    version=$(version_of "$1")
    description=$root/sources/$1_${version#*:}.dsc
    source=$root/unpacked/$1
    echo "static: $1 $version" >&2
    # The signature is that of a person; what is compared is the digest in tools/static/sources.
    dpkg-source --no-check -x "$description" "$source" >"$root/log" 2>&1
    SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l "$source/debian/changelog" -S Timestamp)
    export SOURCE_DATE_EPOCH
}
quietly() { "$@" >"$root/log" 2>&1 || { tail -n 30 "$root/log" >&2; fail "$source: $*"; }; }
processors=$(nproc)
# Without debugging information, and called in the folder itself, compilers write no path of this machine into an object.
flags="-O2 -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fno-strict-aliasing"
sections="-ffunction-sections -fdata-sections"

# Without a build system: all files with the same definitions, into an archive.
compile() { # ARCHIVE DEFINITION… -- FILE…
    local archive=$1 options=()
    shift
    while [[ $1 != -- ]]; do
        options+=("$1")
        shift
    done
    shift
    mkdir objects
    for file in "$@"; do printf '%s\0' "$file"; done | quietly xargs -0 -P "$processors" -I FILE sh -c \
        'gcc "$@" -c "$0" -o "objects/$(basename "$0" .c).o"' FILE $flags "${options[@]}"
    quietly ar Dcrs "$archive" objects/*.o
}

unpack openssl
(
    cd "$source"
    # What is left out: loading modules, programs, what is no TLS over TCP, containers and protocols beside it. Debian asks
    # for the same security level.
    quietly ./Configure "linux-$(uname -m)" --prefix=/usr --libdir=lib --openssldir=/etc/ssl no-shared no-module no-legacy no-engine \
        no-apps no-tests no-docs no-autoload-config no-comp no-ssl3 no-dtls no-quic no-srp no-srtp no-psk no-cms no-cmp no-ts no-ct \
        no-rfc3779 no-gost no-http no-ui-console no-static-engine no-uplink no-idea no-mdc2 no-rc5 no-ec2m enable-ec_nistp_64_gcc_128 \
        -DOPENSSL_TLS_SECURITY_LEVEL=2 $flags $sections
    quietly make -j "$processors" build_libs
    cp libssl.a libcrypto.a "$stage/lib/"
    mkdir -p "$stage/include"
    cp -r include/openssl "$stage/include/"
)

unpack nghttp2
(
    cd "$source/lib"
    version=$(sed -n 's/^AC_INIT(\[nghttp2\], \[\([0-9.]*\)\].*/\1/p' ../configure.ac)
    sed -e "s/@PACKAGE_VERSION@/$version/" \
        -e "s/@PACKAGE_VERSION_NUM@/$(printf '0x%02x%02x%02x' ${version//./ })/" includes/nghttp2/nghttp2ver.h.in >includes/nghttp2/nghttp2ver.h
    compile "$stage/lib/libnghttp2.a" -Iincludes -DNGHTTP2_STATICLIB -DBUILDING_NGHTTP2 -DHAVE_ARPA_INET_H -DHAVE_NETINET_IN_H \
        -DHAVE_CLOCK_GETTIME -DHAVE_DECL_CLOCK_MONOTONIC=1 -- *.c
    mkdir -p "$stage/include/nghttp2"
    cp includes/nghttp2/*.h "$stage/include/nghttp2/"
    printf 'Name: nghttp2\nDescription: HTTP/2\nVersion: %s\nLibs: -L%s -lnghttp2\nCflags: -I%s\n' \
        "$version" "$stage/lib" "$stage/include" >"$stage/lib/pkgconfig/libnghttp2.pc"
)

unpack libpsl
version=$(version_of publicsuffix)
dpkg-deb -x "$root/sources/publicsuffix_${version#*:}_all.deb" "$root/unpacked/publicsuffix"
list=$root/unpacked/publicsuffix/usr/share/publicsuffix/public_suffix_list.dat
(
    cd "$source"
    IFS=. read -r major minor patch <version.txt
    header=include/libpsl.h
    sed -e "s/@LIBPSL_VERSION@/$major.$minor.$patch/" -e "s/@LIBPSL_VERSION_MAJOR@/$major/" -e "s/@LIBPSL_VERSION_MINOR@/$minor/" \
        -e "s/@LIBPSL_VERSION_PATCH@/$patch/" -e "s/@LIBPSL_VERSION_NUMBER@/$(printf '0x%02x%02x%02x' "$major" "$minor" "$patch")/" "$header.in" >"$header"
    # The list is built in, and names come to it encoded: nothing of it is converted at run time.
    quietly /usr/bin/python3 src/psl-make-dafsa --output-format=cxx+ "$list" src/suffixes_dafsa.h
    compile "$stage/lib/libpsl.a" -Iinclude -Isrc -DENABLE_BUILTIN -DBUILDING_PSL -DPSL_STATIC -DPACKAGE_VERSION="\"$major.$minor.$patch\"" \
        -DPSL_DISTFILE='""' -- src/psl.c src/lookup_string_in_fixed_set.c
    cp "$header" "$stage/include/"
)

unpack curl
(
    cd "$source"
    # arc4random came with glibc 2.36, and the program is to start with 2.34.
    ac_cv_func_arc4random=no quietly ./configure --prefix=/usr --disable-shared --enable-static --disable-dependency-tracking \
        --with-openssl="$stage" --with-nghttp2="$stage" --with-gssapi=/usr --enable-ntlm --enable-threaded-resolver --enable-ipv6 --enable-unix-sockets \
        --disable-openssl-auto-load-config --without-ca-bundle --without-ca-path --without-ca-fallback \
        --without-zlib --without-brotli --without-zstd --without-libidn2 --without-libpsl --without-libssh2 --without-librtmp --without-libgsasl \
        --disable-docs --disable-manual --disable-file --disable-ldap --disable-ldaps --disable-rtsp --disable-dict --disable-telnet \
        --disable-tftp --disable-pop3 --disable-imap --disable-smb --disable-smtp --disable-gopher --disable-mqtt --disable-ipfs \
        --disable-websockets --disable-cookies --disable-alt-svc --disable-hsts --disable-doh --disable-netrc --disable-aws --disable-tls-srp \
        --disable-mime --disable-form-api CFLAGS="$flags $sections" CPPFLAGS=
    quietly make -C lib -j "$processors"
    cp lib/.libs/libcurl.a "$stage/lib/"
    cp -r include/curl "$stage/include/"
    rm -f "$stage"/include/curl/Makefile*
)

cp "$stage"/lib/*.a "$root/lib/"
cp -r "$stage/include/." "$root/include/"
multiarch=$(gcc -print-multiarch)
for other in "${others[@]}"; do cp "/usr/lib/$multiarch/${other%-dev}.a" "$root/lib/"; done
{
    for name in curl nghttp2 openssl libpsl; do echo "$name $(version_of "$name") -"; done
    echo "publicsuffix $(version_of publicsuffix) publicsuffix"
    dpkg-query -W -f='${source:Package} ${Version} ${Package}\n' "${others[@]}"
} >"$root/contents"
rm -rf "$root/unpacked" "$stage"
# SwiftPM does not see that an archive changed: what was linked with the last ones is linked anew.
rm -f "$root"/program/*/release/{transfer-run,transfer-run-bench} "$root"/program/*/debug/*.xctest
echo "$made" >"$root/made"
