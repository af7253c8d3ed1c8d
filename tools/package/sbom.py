#!/usr/bin/python3
"""The bill of materials (SPDX 2.3, JSON) of the program as it was linked, and a check of NOTICE against it.

What is in the program is proven by it: each archive that was linked leaves its version in the program's text. What it is
linked to stands in its header, and what it loads later is named in its text; for both, Debian's package and version are
those of the machine that built it.

usage: tools/package/sbom.py [--check-notice]    (after `make build STATIC=1`; a .deb has one of its own)
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import time

import common

CURL, MIT, BSD, BLESSING, APACHE, MOZILLA = "curl", "MIT", "BSD-2-Clause", "blessing", "Apache-2.0", "MPL-2.0"
# Of each source package that is linked: its project's name, licence, home, and what of the program's text says its version.
LINKED = {
    "curl": ("libcurl", CURL, "https://curl.se", r"(\d+\.\d+\.\d+)"),
    "nghttp2": ("nghttp2", MIT, "https://nghttp2.org", r"(\d+\.\d+\.\d+)"),
    "openssl": ("OpenSSL", APACHE, "https://openssl.org", r"OpenSSL (\d+\.\d+\.\d+)"),
    "libpsl": ("libpsl", f"{MIT} AND BSD-3-Clause", "https://rockdaboot.github.io/libpsl", r"(\d+\.\d+\.\d+)"),
    "libyaml": ("libyaml", MIT, "https://pyyaml.org/wiki/LibYAML", r"(\d+\.\d+\.\d+)"),
    "sqlite3": ("SQLite", BLESSING, "https://sqlite.org", r"(\d+\.\d+\.\d+)"),
    # Data without a version in its text.
    "publicsuffix": ("Public Suffix List", MOZILLA, "https://publicsuffix.org", None),
}


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
    """What is in the program: (name, upstream's version, locator of Debian's package, licence, home)."""
    text = binary.read_bytes()
    rows = []
    contents = common.ROOT / ".build/static/contents"
    for line in contents.read_text().splitlines() if common.is_static(binary) else []:
        source, version, package = line.split()
        name, licence, home, pattern = LINKED[source]
        said = {found.decode() for found in re.findall(pattern.encode(), text)} if pattern else {upstream(version)}
        if upstream(version) not in said:
            common.fail(f"{source} {version} was not linked: the program does not say this version")
        locator = purl(source, version, "source") if package == "-" else purl(package, version)
        rows.append((name, upstream(version), locator, licence, home))
    rows.append(("Swift standard library and runtime", swift_version(), None, APACHE, "https://swift.org"))
    rows.append(("xxHash", upstream(xxhash_version()), purl("libxxhash-dev", xxhash_version()), BSD, "https://xxhash.com"))
    return rows


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", name)


def purl(package, version, architecture=None):
    """A locator of a package of Debian, https://github.com/package-url/purl-spec."""
    version = version.replace("+", "%2B").replace(":", "%3A")
    return f"pkg:deb/debian/{package}@{version}?arch={architecture or common.debian_architecture()}"


def package(name, version, licence, home="NOASSERTION", locator=None):
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
    if locator:
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
    for name, number, locator, licence, home in inside(binary):
        entry = package(name, number, licence, home, locator)
        packages.append(entry)
        relations.append((root["SPDXID"], "STATIC_LINK", entry["SPDXID"]))
    unknown = []
    for kind, libraries in [("DYNAMIC_LINK", common.needed(binary)), ("RUNTIME_DEPENDENCY_OF", common.called_late(binary))]:
        for library in sorted(libraries):
            found = owner(library)
            unknown += [] if found else [library]
            locator = purl(*found) if found else None
            entry = package(library, upstream(found[1]) if found else "NOASSERTION", "NOASSERTION", locator=locator)
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
