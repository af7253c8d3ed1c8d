#!/usr/bin/python3
"""The bill of materials (SPDX 2.3, JSON) of the program as it was linked, and a check of NOTICE against it.

What is in the program is proven by it: each archive that was linked leaves its version in the program's text. What it is
linked to stands in its header, and what it loads later is named in its text; for both, Debian's package and version are
those of the machine that built it.

usage: tools/package/sbom.py [--check-notice]    (after `make build STATIC=1`)
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import time

import common

CURL, MIT, BSD, BLESSING, APACHE = "curl", "MIT", "BSD-2-Clause", "blessing", "Apache-2.0"
# Of each archive: its project's name, licence, and what of its text holds the version.
ARCHIVES = {
    "libcurl.a": ("libcurl", CURL, r"libcurl/(\d+\.\d+\.\d+)", "https://curl.se"),
    "libnghttp2.a": ("nghttp2", MIT, None, "https://nghttp2.org"),
    "libpsl.a": ("libpsl", MIT, None, "https://rockdaboot.github.io/libpsl"),
    "libyaml.a": ("libyaml", MIT, None, "https://pyyaml.org/wiki/LibYAML"),
    "libsqlite3.a": ("SQLite", BLESSING, None, "https://sqlite.org"),
}
GCC = "GPL-3.0-or-later WITH GCC-exception-3.1"


def debian_version(package):
    return common.run("dpkg-query", "-W", "-f=${Version}", package)


def upstream(version):
    """`8.14.1` of `8.14.1-2+deb13u2~bpo13+1`."""
    return re.sub(r"-[^-]*$", "", version).split(":")[-1].split("+")[0]


def owner(library):
    """Debian's package that brings a shared library, and its version."""
    path = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", common.run("ldconfig", "-p"), re.M)
    if not path:
        return None
    # The package knows the file by its name before or after /lib became /usr/lib.
    for place in [path.group(1), str(pathlib.Path(path.group(1)).resolve()), "/usr" + path.group(1)]:
        found = subprocess.run(["dpkg", "-S", place], capture_output=True, text=True)
        if found.returncode == 0:
            package = found.stdout.split(":")[0]
            return package, debian_version(package)
    return None


def swift_version():
    found = re.search(r"Swift version (\S+)", common.run("swift", "--version"))
    return found.group(1) if found else common.fail("`swift --version` says no version")


def xxhash_version():
    return debian_version("libxxhash-dev")


def inside(binary):
    """What is in the program: (name, upstream's version, package, Debian's version, licence, home)."""
    text = binary.read_bytes()
    rows = []
    for line in (common.ROOT / ".build/static/contents").read_text().splitlines():
        package, version, _, archive = line.split()
        name, licence, pattern, home = ARCHIVES[archive]
        proof = re.search(pattern.encode(), text).group(1).decode() if pattern else upstream(version)
        if proof != upstream(version) or proof.encode() not in text:
            common.fail(f"{archive} of {package} {version} was not linked: the program says {proof}")
        rows.append((name, proof, package, version, licence, home))
    swift = swift_version()
    rows.append(("Swift standard library and runtime", swift, None, swift, APACHE, "https://swift.org"))
    rows.append(("xxHash", upstream(xxhash_version()), "libxxhash-dev", xxhash_version(), BSD, "https://xxhash.com"))
    compiler = common.run("gcc", "-dumpversion").strip()
    package = f"libstdc++-{compiler}-dev"
    rows.append(("libstdc++", upstream(debian_version(package)), package, debian_version(package), GCC, "https://gcc.gnu.org"))
    return rows


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name)


def package(name, version, licence, home="NOASSERTION", debian=None):
    entry = {
        "SPDXID": identifier(name),
        "name": name,
        "versionInfo": version,
        "downloadLocation": home,
        "filesAnalyzed": False,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }
    if debian:
        locator = f"pkg:deb/debian/{debian[0]}@{debian[1].replace('+', '%2B').replace(':', '%3A')}?arch={common.debian_architecture()}"
        entry["externalRefs"] = [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
        ]
    return entry


def document(binary):
    version = common.version()
    digest = hashlib.sha256(binary.read_bytes()).hexdigest()
    root = package("transfer-run", version, APACHE)
    root["checksums"] = [{"algorithm": "SHA256", "checksumValue": digest}]
    root["primaryPackagePurpose"] = "APPLICATION"
    packages, relations = [root], [("SPDXRef-DOCUMENT", "DESCRIBES", root["SPDXID"])]
    for name, number, debian, debian_number, licence, home in inside(binary):
        entry = package(name, number, licence, home, (debian, debian_number) if debian else None)
        packages.append(entry)
        relations.append((root["SPDXID"], "STATIC_LINK", entry["SPDXID"]))
    unknown = []
    for kind, libraries in [("DYNAMIC_LINK", common.needed(binary)), ("RUNTIME_DEPENDENCY_OF", common.called_late(binary))]:
        for library in sorted(libraries):
            found = owner(library)
            unknown += [] if found else [library]
            entry = package(library, upstream(found[1]) if found else "NOASSERTION", "NOASSERTION", debian=found)
            packages.append(entry)
            pair = (root["SPDXID"], kind, entry["SPDXID"])
            relations.append(pair if kind == "DYNAMIC_LINK" else (pair[2], kind, pair[0]))
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"transfer-run-{version}-linux-{common.machine()}",
        "documentNamespace": f"urn:transfer-run:{version}:sha256:{digest}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(common.epoch())),
            "creators": [f"Tool: transfer-run-{version}-tools-package-sbom"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations
        ],
    }


def text(binary):
    return json.dumps(document(binary), indent=2) + "\n"


def check_notice(binary):
    """NOTICE names each thing that is in the program."""
    notice = (common.ROOT / "NOTICE").read_text()
    marks = {"Swift standard library and runtime": "Swift's runtime and standard library"}
    missing = [row[0] for row in inside(binary) if marks.get(row[0], row[0]) not in notice]
    if missing:
        common.fail(f"NOTICE does not name {', '.join(missing)}, which is in the program")


def main():
    binary = common.program()
    if "--check-notice" in sys.argv:
        check_notice(binary)
        print("NOTICE names all that is in the program")
    else:
        common.publish(f"transfer-run-{common.version()}-linux-{common.machine()}.spdx.json", text(binary).encode())


if __name__ == "__main__":
    main()
