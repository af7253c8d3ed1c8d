#!/usr/bin/env bash
# Installs each package of .build/package in a clean place and runs it there. `make packages` comes first.
#
# usage: tools/package_test.sh [PART…]    (manuals install archives tarball deb wheel image sbom ci units; all without one)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/.build/package
export LC_ALL=C.UTF-8
work=$(mktemp -d)
servers=()
trap 'for pid in "${servers[@]}"; do kill "$pid" 2>/dev/null || true; done; rm -rf "$work"' EXIT

fail() { echo "package-test: $*" >&2; exit 1; }
passed() { echo "ok  $*"; }
the() { # PATTERN: the one package of that name
    local found
    mapfile -t found < <(compgen -G "$out/$1")
    [[ ${#found[@]} -eq 1 ]] || fail "there are ${#found[@]} packages of the name $1: make packages"
    echo "${found[0]}"
}
# Tools of Python that are no packages of Debian, in a place of their own.
pip_tools() { # NAME…
    local venv=$root/.build/package-tools missing=()
    tools/need.sh python3-venv
    [[ -x $venv/bin/pip ]] || /usr/bin/python3 -m venv "$venv"
    for name in "$@"; do "$venv/bin/pip" show --quiet "$name" >/dev/null 2>&1 || missing+=("$name"); done
    [[ ${#missing[@]} -eq 0 ]] || "$venv/bin/pip" install --quiet --disable-pip-version-check "${missing[@]}"
    tool=$venv/bin
}
# Serves the site of some examples, those of this checkout or a copy of a package's, for everything that is tried next.
serve() { # FOLDER
    : >"$work/port"
    "$1/server.py" "$1/site" >"$work/port" 2>"$work/requests" &
    servers+=($!)
    for _ in {1..200}; do [[ -s $work/port ]] && break; sleep 0.05; done
    [[ -s $work/port ]] || { cat "$work/requests" >&2; fail "the server of $1 did not start"; }
    site=http://127.0.0.1:$(<"$work/port")
}
# Every link of the pages leads to a file that came with them, but for those into the sources.
links_lead() { # FOLDER
    /usr/bin/python3 - "$1" <<'END' || fail "a page of $1 names a file that is not there"
import pathlib, re, sys
folder = pathlib.Path(sys.argv[1]).resolve()
wrong, right = [], 0
for page in sorted(folder.rglob("*.md")):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for link in re.findall(r"\]\(([^)#\s]+)", text) + re.findall(r"^\[[^\]]+\]: ([^#\s]+)", text, re.M):
        if re.match(r"[a-z]+:", link):
            continue
        if (page.parent / link).exists():
            right += 1
        elif not re.search(r"(^|/)(Sources|Tests|\.pre-commit-hooks\.yaml)(/|$)", link):
            wrong.append(f"{page.relative_to(folder)}: {link}")
print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
sys.exit(1 if wrong or not right else 0)
END
}
# A site of one answer over TLS that calls itself secure.example.org, with a certificate that only the given folder has.
serve_tls() { # FOLDER
    tools/need.sh openssl
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=secure.example.org -addext subjectAltName=DNS:secure.example.org -days 2 \
        -keyout "$work/key.pem" -out "$1/certificate.pem" 2>/dev/null
    rm -f "$work/secure-port"
    python3 - "$1/certificate.pem" "$work/key.pem" >"$work/secure-port" 2>/dev/null <<'END' &
import http.server, ssl, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.send_header("Set-Cookie", "a=b; Domain=example.org")
        self.end_headers()
        self.wfile.write(b"yes")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
END
    servers+=($!)
    for _ in {1..200}; do [[ -s $work/secure-port ]] && break; sleep 0.05; done
    [[ -s $work/secure-port ]] || fail "the server with TLS did not start"
    secure_address=127.0.0.1:$(<"$work/secure-port")
}
# Has a command fetch over TLS: without the certificate it refuses, with it a file comes, and a cookie beside it.
speaks_tls() { # FOLDER FOLDER-AS-THE-COMMAND-SEES-IT COMMAND…
    local folder=$1 seen=$2
    shift 2
    serve_tls "$folder"
    local routing tasks
    routing="connectTo: { secure.example.org: '$secure_address' }"
    tasks="tasks: [{ id: a, url: 'https://secure.example.org/', to: a.txt }]"
    printf '%s\n' "sessions: { s: { $routing } }" "$tasks" >"$folder/secure.yaml"
    if "$@" run "$seen/secure.yaml" --report "$seen/report.json" >"$work/output" 2>&1; then
        fail "any certificate will do: $*"
    fi
    grep -q serverCertificateUntrusted "$folder/report.json" || { cat "$work/output" >&2; fail "no TLS: $*"; }
    printf '%s\n' "sessions: { s: { $routing, tls: { trust: { ca: certificate.pem } } } }" "$tasks" >"$folder/secure.yaml"
    "$@" run "$seen/secure.yaml" --report "$seen/report.json" >"$work/output" 2>&1 ||
        { cat "$work/output" >&2; fail "a certificate that is given is not trusted: $*"; }
    [[ $(<"$folder/a.txt") == yes ]] || fail "another file came: $*"
}
# Has a command run the quickstart, which is in a folder, and looks at what came of it.
quickstart() { # FOLDER FOLDER-AS-THE-COMMAND-SEES-IT COMMAND…
    local folder=$1 seen=$2
    shift 2
    [[ -n ${site:-} ]] || serve examples
    "$@" run "$seen/quickstart.transfer.yaml" --set "site=$site" --report "$seen/report.json" --progress plain >"$work/output" 2>&1 ||
        { cat "$work/output" >&2; fail "the quickstart fails: $*"; }
    cmp "$folder/downloads/notes.txt" examples/site/notes.txt
    grep -q '"outcome": *"succeeded"' "$folder/report.json" || fail "the report tells no success"
}
# The completion scripts are those of the program, and bash knows how to complete its name with its own.
completes() { # BASH ZSH FISH
    local shell
    for shell in bash zsh fish; do
        "$out/transfer-run" completions "$shell" | cmp - "$1" || fail "$1 is not what \`completions $shell\` prints"
        [[ $shell != bash ]] || bash --norc --noprofile -c 'source "$1" && complete -p transfer-run' - "$1" >/dev/null ||
            fail "bash completes nothing with $1"
        shift
    done
}
# man finds the pages of a program that is found in $PATH.
opens_manuals() { # FOLDER-OF-THE-PROGRAM
    tools/need.sh man-db
    local page found
    for page in man/*; do
        page=${page#man/}
        found=$(PATH=$1:$PATH man -w "${page##*.}" "${page%.*}" 2>&1) || fail "$found, with $1 in \$PATH"
        [[ $(zcat -f "$found" | sha256sum) == "$(sha256sum <"man/$page")" ]] || fail "man opens $found, which is another $page"
    done
}
# Makes a package once more and holds the two against each other.
same_again() { # SCRIPT FILE
    local before
    before=$(sha256sum <"$2")
    "tools/package/$1" >/dev/null
    [[ $(sha256sum <"$2") == "$before" ]] || fail "$2 has other bytes when it is made again"
}

test_manuals() {
    tools/need.sh mandoc groff-base man-db
    local page said
    for page in man/*; do
        said=$(mandoc -T lint -W warning "$page") || fail "$page: $said"
        said=$(groff -man -Tutf8 -ww -z -k "$page" 2>&1)
        [[ -z $said ]] || fail "$page: $said"
        said=$(MANWIDTH=80 man -l "$page" 2>&1) || fail "man: $said"
        grep -q '^NAME' <<<"$said" || fail "man shows no NAME of $page"
    done
    # What help knows, the manual knows.
    said=$(MANWIDTH=100 man -l man/transfer-run.1)
    for page in $("$out/transfer-run" help run | grep -oE '^ +(-[a-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
        grep -qF -- "$page" <<<"$said" || fail "the manual does not know $page"
    done
    passed "manuals: mandoc, groff and man read them"
}

# What `make install` installs, and that `make uninstall` removes exactly that.
test_install() {
    local place=$work/install/opt/local folder=$work/install unit
    mkdir -p "$place/share/man/man1" "$place/share/transfer-run"
    echo mine >"$place/share/man/man1/other.1"
    echo mine >"$place/share/transfer-run/mine"
    tools/package/local.py install "$out/transfer-run" "$folder" /opt/local >"$work/installed"
    [[ $(find "$folder" -type f | wc -l) -eq $(($(wc -l <"$work/installed") + 2)) ]] || fail "install does not name every file"
    "$place/bin/transfer-run" --version | grep -q '^libcurl [0-9]' || fail "the installed program knows no libcurl"
    completes "$place/share/bash-completion/completions/transfer-run" "$place/share/zsh/site-functions/_transfer-run" \
        "$place/share/fish/vendor_completions.d/transfer-run.fish"
    opens_manuals "$place/bin"
    "$place/bin/transfer-run" schema | cmp - "$place/share/transfer-run/schemas/jobs.schema.json"
    for unit in system/transfer-run.service system/transfer-run@.service user/transfer-run.service; do
        grep -q '^ExecStart=/opt/local/bin/transfer-run ' "$place/lib/systemd/$unit" || fail "$unit starts another program"
    done
    if grep -rn "/usr/.*bin/transfer-run" "$place/lib"; then fail "a unit starts another program"; fi
    make --no-print-directory uninstall DESTDIR="$folder" PREFIX=/opt/local >"$work/removed"
    [[ $(wc -l <"$work/removed") -eq $(wc -l <"$work/installed") ]] || fail "uninstall removes something else"
    (cd "$folder" && find . ! -type d | sort) | cmp - <(cd "$folder" && find . -name other.1 -o -name mine | sort) ||
        fail "uninstall leaves files"
    rm "$place/share/transfer-run/mine"
    make --no-print-directory uninstall DESTDIR="$folder" PREFIX=/opt/local
    [[ ! -e $place/share/transfer-run ]] || fail "uninstall leaves its own folder"
    passed "install: everything below PREFIX, and removed again"
}

# Compiled once more, in a folder with a longer name, the archives have the same bytes.
test_archives() {
    local again=$root/.build/static-in-another-folder archive
    rm -rf "$again"
    mkdir -p "$again"
    cp -r "$root/.build/static/sources" "$again/"
    tools/static_libraries.sh --in "$again" 2>"$work/archives" || { cat "$work/archives" >&2; fail "the archives cannot be compiled"; }
    cmp "$again/contents" "$root/.build/static/contents"
    for archive in "$again"/lib/*.a; do
        cmp "$archive" "$root/.build/static/lib/$(basename "$archive")" || fail "$(basename "$archive") is another one when it is made again"
    done
    rm -rf "$again"
    passed "archives: the same bytes when they are compiled again"
}

test_tarball() {
    local archive folder
    archive=$(the 'transfer-run-*.tar.gz')
    same_again tarball.py "$archive"
    folder=$work/tarball
    mkdir "$folder"
    tar -xzf "$archive" -C "$folder" --strip-components=1
    (cd "$folder" && sha256sum --quiet -c SHA256SUMS)
    [[ $(cd "$folder" && find . -type f ! -path ./SHA256SUMS | wc -l) -eq $(wc -l <"$folder/SHA256SUMS") ]] ||
        fail "SHA256SUMS does not list every file"
    if LC_ALL=C grep -qaF "$root" "$folder/bin/transfer-run"; then fail "the program names the folder it was built in"; fi
    links_lead "$folder"
    cp -r "$folder/examples" "$work/tarball-examples"
    serve "$work/tarball-examples"
    cp "$folder/examples/quickstart/quickstart.transfer.yaml" "$folder/"
    quickstart "$folder" "$folder" env -i HOME="$folder" "$folder/bin/transfer-run"
    completes "$folder/complete/transfer-run.bash" "$folder/complete/_transfer-run" "$folder/complete/transfer-run.fish"
    opens_manuals "$folder/bin"
    passed "tarball: $(basename "$archive") is the same twice, and runs where it is unpacked"
}

# A Debian of nothing but what is essential, and apt.
minimal_debian() {
    local suite
    suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
    minimal=$root/.build/minimal-$suite
    [[ ! -e $minimal/made ]] || return 0
    tools/need.sh debootstrap
    rm -rf "$minimal"
    mkdir -p "$minimal"
    local mirror
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
        awk -v codename="$suite" '$2 == codename { print $1; exit }')
    debootstrap --variant=minbase "$suite" "$minimal/root" "$mirror" >"$minimal/log" 2>&1 ||
        { tail -n 5 "$minimal/log" >&2; fail "debootstrap could not make a minimal Debian"; }
    touch "$minimal/made"
}

# Removes the package from the clean Debian, with all that is its own.
purged() {
    in_clean apt-get purge -y -qq transfer-run >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "it is not removed"; }
    local left
    left=$(find "$clean" -xdev \( -path "$clean/try" -o -path "$clean/var/log" -o -path "$clean/tmp" -o -path "$clean/var/cache" \) \
        -prune -o -name '*transfer-run*' -print)
    [[ -z $left ]] || fail "something is left after purge: $left"
}

test_deb() {
    local package clean said
    package=$(the "transfer-run_*~deb$(. /etc/os-release && echo "$VERSION_ID")_*.deb")
    same_again deb.py "$package"
    tools/need.sh lintian
    lintian --allow-root --fail-on error,warning "$package" || fail "lintian objects to $package"
    if [[ $(id -u) -ne 0 ]]; then
        echo "package-test: skipped: only root can install a package in another Debian" >&2
        return
    fi
    minimal_debian
    clean=$work/debian
    cp -a --reflink=auto "$minimal/root" "$clean"
    cp "$package" "$clean/tmp/package.deb"
    cp -L /etc/resolv.conf "$clean/etc/"
    cp -r /etc/apt/apt.conf.d/. "$clean/etc/apt/apt.conf.d/" && cp /etc/apt/apt.conf "$clean/etc/apt/" 2>/dev/null || true
    in_clean() { env DEBIAN_FRONTEND=noninteractive chroot "$clean" "$@"; }
    # Where libcurl and OpenSSL are missing, the program of the other packages runs, and this one's says what to install.
    if ! compgen -G "$clean/usr/lib/*/libcurl.so.4" >/dev/null; then
        mkdir "$clean/bare"
        cp "$out/transfer-run" "$clean/bare/"
        speaks_tls "$clean/bare" /bare env -i HOME=/bare PATH=/usr/bin:/bin "$(command -v chroot)" "$clean" /bare/transfer-run
        cp "$out/system/transfer-run" "$clean/bare/"
        said=$(HOME=/bare in_clean /bare/transfer-run /bare/secure.yaml --no-report 2>&1) && fail "it runs without libcurl"
        [[ $said == *"libsqlite3.so.0: "* || $said == *"libcurl.so.4: "*"libcurl4"* ]] || fail "without libcurl it says: $said"
        rm -r "$clean/bare"
    fi
    in_clean apt-get update -qq >"$work/apt" 2>&1 || { cat "$work/apt" >&2; fail "apt has no lists"; }
    in_clean apt-get install -y -qq --no-install-recommends /tmp/package.deb >"$work/apt" 2>&1 ||
        { cat "$work/apt" >&2; fail "apt does not install $package"; }
    in_clean dpkg --verify transfer-run
    in_clean transfer-run --version | grep -q '^libcurl [0-9]' || fail "the installed program knows no libcurl"
    mkdir "$clean/try"
    links_lead "$clean/usr/share/doc/transfer-run"
    cp -r "$clean/usr/share/doc/transfer-run/examples" "$work/deb-examples"
    serve "$work/deb-examples"
    cp "$work/deb-examples/quickstart/quickstart.transfer.yaml" "$clean/try/"
    quickstart "$clean/try" /try env -i HOME=/try PATH=/usr/bin:/bin "$(command -v chroot)" "$clean" transfer-run
    speaks_tls "$clean/try" /try env -i HOME=/try PATH=/usr/bin:/bin "$(command -v chroot)" "$clean" transfer-run
    completes "$clean/usr/share/bash-completion/completions/transfer-run" "$clean/usr/share/zsh/vendor-completions/_transfer-run" \
        "$clean/usr/share/fish/vendor_completions.d/transfer-run.fish"
    opens_manuals "$clean/usr/bin"
    local file
    for file in usr/share/man/man1/transfer-run.1.gz usr/share/transfer-run/schemas/jobs.schema.json etc/transfer-run \
        usr/lib/systemd/system/transfer-run@.timer usr/lib/systemd/user/transfer-run.socket; do
        # A minimal Debian may be told to leave pages of manuals out.
        [[ -e $clean/$file ]] || fail "$file is not installed"
    done
    purged
    # The same with systemd, whose tools refuse what needs /proc, which is not mounted: the units find program, user and manuals.
    in_clean apt-get install -y -qq --no-install-recommends systemd man-db /tmp/package.deb >"$work/apt" 2>&1 ||
        { cat "$work/apt" >&2; fail "apt does not install $package beside systemd"; }
    in_clean id transfer-run >/dev/null || fail "the units have no user"
    command -v systemd-analyze >/dev/null || tools/need.sh systemd
    local unit
    for unit in transfer-run.socket transfer-run.service transfer-run@nightly.service transfer-run@nightly.timer; do
        said=$(systemd-analyze verify --root="$clean" --man=no "$clean/usr/lib/systemd/system/$unit" 2>&1) && [[ -z $said ]] ||
            fail "$unit: $said"
    done
    in_clean man -w 1 transfer-run 5 transfer-run-job 5 transfer-run-report >/dev/null || fail "man finds no manual"
    purged
    passed "deb: lintian has nothing to say; $(basename "$package") is installed, run and purged in a minimal Debian"
}

test_wheel() {
    local wheel
    wheel=$(the 'transfer_run-*.whl')
    same_again wheel.py "$wheel"
    tools/need.sh python3-venv
    /usr/bin/python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
    "$work/venv/bin/python" - "$wheel" <<'END'
import base64, csv, hashlib, io, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
name = next(name for name in archive.namelist() if name.endswith(".dist-info/RECORD"))
rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(name).decode()))}
assert sorted(rows) == sorted(archive.namelist()), "RECORD lists other files than there are"
for path, (digest, size) in rows.items():
    content = archive.read(path)
    wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert path == name or (digest, size) == (wanted, str(len(content))), path
assert not any(path.endswith(".py") for path in rows), "there is Python in it"
END
    mkdir "$work/wheel"
    cp examples/quickstart/quickstart.transfer.yaml "$work/wheel/"
    quickstart "$work/wheel" "$work/wheel" env -i HOME="$work/wheel" "$work/venv/bin/transfer-run"
    opens_manuals "$work/venv/bin"
    completes "$work/venv/share/bash-completion/completions/transfer-run" "$work/venv/share/zsh/site-functions/_transfer-run" \
        "$work/venv/share/fish/vendor_completions.d/transfer-run.fish"
    pip_tools auditwheel
    local tag
    # What README.md and docs/install.md promise.
    [[ $wheel == *-manylinux_2_34_* ]] || fail "$wheel needs a later glibc than 2.34"
    tag=$(grep -oE 'manylinux_[0-9]+_[0-9]+_[a-z0-9_]+' <<<"$wheel")
    "$tool/auditwheel" show "$wheel" >"$work/audit" 2>&1 || true
    grep -qF "platform tag: \"$tag\"" "$work/audit" || { cat "$work/audit" >&2; fail "auditwheel does not agree with $tag"; }
    "$work/venv/bin/pip" uninstall --quiet --yes transfer-run
    [[ -z $(find "$work/venv" ! -type d -path '*transfer*run*') ]] || fail "the wheel leaves something behind"
    passed "wheel: $(basename "$wheel") is installed, run and removed; auditwheel agrees with its tag"
}

test_image() {
    local layout unpacked
    layout=$(the 'transfer-run-*-oci')
    same_again image.py "$(the 'transfer-run-*-oci.tar')"
    tools/need.sh skopeo
    skopeo inspect "oci:$layout" >"$work/image" || fail "skopeo cannot read $layout"
    grep -q '"org.opencontainers.image.title": "transfer-run"' "$work/image" || fail "the image has no title"
    # skopeo proves every digest when it copies.
    skopeo copy --quiet "oci:$layout" "dir:$work/copied"
    skopeo inspect --config "oci:$layout" | grep -q '"User": "65532:65532"' || fail "the image runs as root"
    unpacked=$work/image-root
    mkdir "$unpacked"
    /usr/bin/python3 - "$layout" "$unpacked" <<'END'
import json, pathlib, subprocess, sys
layout = pathlib.Path(sys.argv[1])
def blob(descriptor): return layout / "blobs" / descriptor["digest"].replace(":", "/")
index = json.loads((layout / "index.json").read_text())
manifest = json.loads(blob(index["manifests"][0]).read_text())
for layer in manifest["layers"]:
    subprocess.run(["tar", "-xzf", blob(layer), "-C", sys.argv[2]], check=True)
END
    cp examples/quickstart/quickstart.transfer.yaml "$unpacked/work/"
    if [[ $(id -u) -ne 0 ]]; then
        echo "package-test: skipped: only root can run the image's files as another user" >&2
        return
    fi
    # The image's environment, its user, none of this machine's files.
    contained() {
        env -i PATH=/usr/bin HOME=/home/nonroot unshare --mount --pid --fork --ipc --uts \
            "$(command -v chroot)" --userspec=65532:65532 "$unpacked" /usr/bin/transfer-run "$@"
    }
    contained --version >"$work/version" || fail "the program of the image does not run"
    grep -q '^TLS OpenSSL/' "$work/version" || fail "the image has no OpenSSL: $(<"$work/version")"
    grep -q '^libcurl .*GSS-API.* HTTP2.* NTLM' "$work/version" || fail "the image's libcurl lacks something: $(<"$work/version")"
    if grep -q 'features are unknown' "$work/version"; then fail "the image lacks a library: $(<"$work/version")"; fi
    quickstart "$unpacked/work" /work contained
    speaks_tls "$unpacked/work" /work contained
    passed "image: skopeo reads it, and it runs as 65532 with nothing but its own files"
}

test_sbom() {
    tools/package/sbom.py --check-notice >/dev/null
    local document
    document=$(the 'transfer-run-*.spdx.json')
    same_again sbom.py "$document"
    pip_tools spdx-tools
    "$tool/pyspdxtools" -i "$document" >"$work/spdx" 2>&1 || { cat "$work/spdx" >&2; fail "$document is no SPDX 2.3"; }
    /usr/bin/python3 - "$document" "$out/transfer-run" <<'END'
import hashlib, json, subprocess, sys
document = json.load(open(sys.argv[1]))
names = {package["SPDXID"]: package for package in document["packages"]}
kinds = {}
for relation in document["relationships"]:
    kinds.setdefault(relation["relationshipType"], set()).add(relation["relatedSpdxElement"])
linked = {names[one]["name"] for one in kinds["DYNAMIC_LINK"]}
text = subprocess.run(["ldd", sys.argv[2]], capture_output=True, text=True, check=True).stdout
loaded = {line.split()[0].split("/")[-1] for line in text.splitlines() if "vdso" not in line}
assert linked == loaded, f"linked are {loaded}, the document has {linked}"
assert {"libcurl", "OpenSSL", "SQLite", "libyaml", "nghttp2"} <= {names[one]["name"] for one in kinds["STATIC_LINK"]}
digest = hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
assert document["packages"][0]["checksums"][0]["checksumValue"] == digest
END
    passed "sbom: SPDX 2.3, with what ldd says; NOTICE names what is inside"
}

test_ci() {
    pip_tools check-jsonschema pre-commit
    "$tool/check-jsonschema" --quiet --builtin-schema vendor.github-actions packaging/github/action.yml
    "$tool/check-jsonschema" --quiet --builtin-schema vendor.gitlab-ci packaging/gitlab/transfer-run.gitlab-ci.yml
    [[ -n ${site:-} ]] || serve examples
    local folder=$work/action
    mkdir -p "$folder/job" "$folder/runner"
    cp examples/quickstart/quickstart.transfer.yaml "$folder/job/"
    tools/need.sh python3-yaml python3-venv
    act() {
        /usr/bin/python3 tools/package/run_action.py "$folder/runner" job=quickstart.transfer.yaml "package=$(the '*.whl')" \
            working-directory="$folder/job" "arguments=--set
site=$1" >"$work/outputs" 2>"$work/output"
    }
    act "$site" || { cat "$work/output" >&2; fail "the action failed"; }
    grep -qx 'changed=1' "$work/outputs" && grep -qx 'failed=0' "$work/outputs" && grep -qx 'bytes=175' "$work/outputs" ||
        fail "the action has other outputs: $(<"$work/outputs")"
    [[ -s $folder/runner/transfer-run.html ]] || fail "the action leaves no page"
    if act http://127.0.0.1:1; then fail "the action hides a failure"; fi
    grep -qx 'failed=[1-9]' "$work/outputs" || fail "the action tells no failures: $(<"$work/outputs")"

    local repo=$work/hook
    mkdir "$repo" "$work/hooks"
    cp .pre-commit-hooks.yaml "$work/hooks/"
    for folder in "$repo" "$work/hooks"; do
        git -C "$folder" init -q
        [[ $folder == "$work/hooks" ]] || echo "tasks: [{ id: a, url: 'https://example.org/a', tto: a }]" >"$folder/nightly.transfer.yaml"
        git -C "$folder" add -A
        git -C "$folder" -c user.name=test -c user.email=test@example.org commit -qm test
    done
    hook() {
        (cd "$repo" && PATH=$out:$PATH PRE_COMMIT_HOME=$work/pre-commit "$tool/pre-commit" try-repo "$work/hooks" \
            transfer-run-check --all-files) >"$work/output" 2>&1
    }
    if hook; then fail "the hook lets a wrong job pass"; fi
    grep -q 'unknown key `tto`' "$work/output" || { cat "$work/output" >&2; fail "the hook does not tell what is wrong"; }
    sed -i s/tto/to/ "$repo/nightly.transfer.yaml"
    git -C "$repo" add -A
    hook || { cat "$work/output" >&2; fail "the hook objects to a right job"; }
    /usr/bin/python3 -m json.tool packaging/schemastore.json >/dev/null
    passed "ci: the action runs with its outputs, the hook checks, the schemas of GitHub and GitLab accept the files"
}

test_units() {
    command -v systemd-analyze >/dev/null || tools/need.sh systemd
    local folder=$work/units unit said
    mkdir -p "$folder" "$work/user-units"
    cp packaging/systemd/system/* "$folder/"
    # There is no installed program that these could be held against.
    sed -i "s|/usr/bin/transfer-run|$out/transfer-run|" "$folder"/*
    for unit in transfer-run.socket transfer-run.service transfer-run@nightly.service transfer-run@nightly.timer; do
        said=$(systemd-analyze verify --man=no "$folder/$unit" 2>&1 | grep -F transfer-run || true)
        [[ -z $said ]] || fail "$unit: $said"
    done
    # Those of a user, too.
    cp packaging/systemd/transfer-run.* "$work/user-units/"
    sed -i "s|/usr/local/bin/transfer-run|$out/transfer-run|" "$work/user-units"/*
    for unit in transfer-run.socket transfer-run.service; do
        said=$(XDG_RUNTIME_DIR=$work systemd-analyze --user verify --man=no "$work/user-units/$unit" 2>&1 | grep -F transfer-run || true)
        [[ -z $said ]] || fail "user's $unit: $said"
    done
    for unit in transfer-run.service transfer-run@.service; do
        systemd-analyze security --no-pager --offline=true --threshold=25 "$folder/$unit" >"$work/output" ||
            { tail -n 3 "$work/output" >&2; fail "$unit may do more than it needs"; }
    done
    passed "units: systemd reads them, and counts the template's exposure as $(tail -n 1 "$work/output" | grep -oE '[0-9]\.[0-9]')"
}

parts=("$@")
[[ $# -gt 0 ]] || parts=(manuals install archives tarball deb wheel image sbom ci units)
for part in "${parts[@]}"; do "test_$part"; done
echo "package-test: ${#parts[@]} passed, 0 failed"
