#!/usr/bin/python3
"""Makes .build/package/transfer-run_VERSION-1~debN_ARCH.deb for the Debian that it runs on, such as `~deb12`.

The program in it uses this Debian's libraries, whose security updates reach it. The package depends on those that the program
is linked to, with the versions that dpkg-shlibdeps finds, and on those that it loads later, from the version on that it was
compiled with.

usage: tools/package/deb.py    (after `make build`)
"""

import email.utils
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile

import common
import sbom

PACKAGING = common.ROOT / "packaging"
MAINTAINER = os.environ.get("DEBFULLNAME", "transfer-run maintainers")
ADDRESS = os.environ.get("DEBEMAIL", "maintainers@transfer-run.invalid")
# What the program does without where it is missing.
OPTIONAL = {"libsystemd.so.0"}
UNIT_FOLDER = "usr/lib/systemd"


def depends(binary):
    """`libc6 (>= 2.34), …`."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/debian")
        with open(f"{folder}/debian/control", "w") as control:
            control.write("Source: transfer-run\n\nPackage: transfer-run\nArchitecture: any\n")
        # Into the program's own list of libraries: not those that it loads later.
        text = common.run("dpkg-shlibdeps", "-O", "--ignore-missing-info", str(binary), cwd=folder)
    linked = re.search(r"shlibs:Depends=(.*)", text).group(1).split(", ")
    loaded = []
    for library in set(common.called_late(binary)) - OPTIONAL:
        package, version = sbom.owner(library) or common.fail(f"{library} is not installed on this machine")
        loaded.append(f"{package} (>= {sbom.upstream(version)})")
    return sorted({*linked, *loaded})


def suite():
    """`deb12` on Debian 12; `sid` where there is no number yet."""
    release = platform.freedesktop_os_release()
    return f"deb{release['VERSION_ID']}" if "VERSION_ID" in release else release["VERSION_CODENAME"]


def debian_version():
    return f"{common.version()}-1~{suite()}"


def control(binary, size):
    return f"""Package: transfer-run
Version: {debian_version()}
Architecture: {common.debian_architecture()}
Maintainer: {MAINTAINER} <{ADDRESS}>
Installed-Size: {size}
Depends: {", ".join(depends(binary))}
Recommends: ca-certificates
Suggests: libsystemd0
Section: net
Priority: optional
Description: many transfers from one job file
 A YAML job says which downloads, uploads and requests there are; transfer-run
 decides what to start when, keeps limits of connections, rates and hosts,
 tries again what may heal, and puts a file under its name only when it is whole
 and verified. A JSON report and one exit status say what came of it.
 .
 It is for mirrors, release pipelines, nightly imports and work on APIs:
 wherever a script of curl lines has grown retries, limits and checksums.
"""


def changelog():
    date = email.utils.formatdate(common.epoch())
    return f"""transfer-run ({debian_version()}) unstable; urgency=medium

  * What is new stands in changelog.gz beside this file.

 -- {MAINTAINER} <{ADDRESS}>  {date}
"""


def copyright():
    notice = (common.ROOT / "NOTICE").read_text()
    return f"""transfer-run is under the Apache License, Version 2.0, which on Debian
systems is in /usr/share/common-licenses/Apache-2.0.

Copyright 2026 the authors of transfer-run.

{notice}"""


def tree(binary):
    files = common.Tree()
    doc = "usr/share/doc/transfer-run"
    files.add("usr/bin/transfer-run", binary, 0o755)
    for path in common.manuals():
        files.add(f"usr/share/man/man{path.suffix[1:]}/{path.name}.gz", common.packed(path.read_bytes()))
    for shell, text in common.completions(binary).items():
        place = common.COMPLETIONS[shell].replace("site-functions", "vendor-completions")
        files.add(f"usr/share/{place}", text)
    for path in common.schemas():
        files.add(f"usr/share/transfer-run/schemas/{path.name}", path)
    for path, text in common.units("/usr/bin").items():
        files.add(f"{UNIT_FOLDER}/{path}", text)
    files.add("usr/lib/sysusers.d/transfer-run.conf", PACKAGING / "debian/sysusers.conf")
    files.add("usr/lib/tmpfiles.d/transfer-run.conf", PACKAGING / "debian/tmpfiles.conf")
    files.folder("etc/transfer-run")
    files.add(f"{doc}/copyright", copyright())
    files.add(f"{doc}/changelog.Debian.gz", common.packed(changelog().encode()))
    files.add(f"{doc}/changelog.gz", common.packed((common.ROOT / "CHANGELOG.md").read_bytes()))
    files.add(f"{doc}/sbom.spdx.json", sbom.text(binary))
    for path in common.documents():
        files.add(f"{doc}/{path.relative_to(common.ROOT)}", path)
    files.link(f"{doc}/LICENSE", "../../common-licenses/Apache-2.0")
    files.link(f"{doc}/schemas", "../../transfer-run/schemas")
    files.add("usr/share/lintian/overrides/transfer-run", PACKAGING / "debian/lintian-overrides")
    return files


def main():
    binary = common.system_program()
    files = tree(binary)
    contents = [(path, content) for path, (_, content) in sorted(files.entries.items()) if isinstance(content, bytes)]
    size = sum(-(-len(content) // 1024) for _, content in contents)
    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {path}\n" for path, content in contents)
    files.add("DEBIAN/control", control(binary, size))
    files.add("DEBIAN/md5sums", sums)
    for script in ["postinst", "prerm", "postrm"]:
        files.add(f"DEBIAN/{script}", PACKAGING / "debian" / script, 0o755)
    root = common.OUT / "deb"
    shutil.rmtree(root, ignore_errors=True)
    files.write(root)
    name = f"transfer-run_{debian_version()}_{common.debian_architecture()}.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root), str(common.OUT / name)],
        check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(common.epoch())})
    shutil.rmtree(root)
    common.publish(name, (common.OUT / name).read_bytes())


if __name__ == "__main__":
    main()
