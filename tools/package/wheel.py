#!/usr/bin/python3
"""Makes a wheel that brings the program and no Python: `pip install` puts it beside `python`.

Its tag says which glibc it needs: the one whose symbols the program refers to, but 2.34 at least, from which on glibc has
been one library.

usage: tools/package/wheel.py    (after `make build STATIC=1`)
"""

import base64
import hashlib
import io
import re
import time
import zipfile

import common
import sbom

SUMMARY = "Many transfers from one file: a YAML job goes in; verified files, a JSON report and one exit status come out."


def glibc(binary):
    """The version of glibc that the program needs, as (2, 34)."""
    named = re.findall(r"Name: GLIBC_([A-Z0-9_.]+)", common.run("readelf", "-VW", str(binary)))
    if "ABI_DT_RELR" in named:
        return (2, 36)
    numbers = [tuple(map(int, name.split(".")[:2])) for name in named if name[0].isdigit()]
    return max(numbers + [(2, 34)])


def metadata():
    return "\n".join([
        "Metadata-Version: 2.1",
        "Name: transfer-run",
        f"Version: {common.version()}",
        f"Summary: {SUMMARY}",
        "License: Apache-2.0",
        "License-File: LICENSE",
        "License-File: NOTICE",
        "Keywords: download,upload,mirror,curl,checksum,batch",
        "Classifier: Environment :: Console",
        "Classifier: License :: OSI Approved :: Apache Software License",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Topic :: Internet :: WWW/HTTP",
        "Requires-Python: >=3.7",
        "Description-Content-Type: text/markdown",
        "",
        description(),
    ])


def description():
    """The README without its picture and the links that lead to files of the repository."""
    text = (common.ROOT / "README.md").read_text()
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)\n*", "", text)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


def main():
    binary = common.program()
    tag = "py3-none-manylinux_%d_%d_%s" % (*glibc(binary), common.machine())
    name = f"transfer_run-{common.version()}"
    info = f"{name}.dist-info"
    data = f"{name}.data"
    files = {f"{data}/scripts/transfer-run": (binary.read_bytes(), 0o755)}

    def add(path, content):
        files[path] = (content if isinstance(content, bytes) else content.encode(), 0o644)

    for path in common.manuals():
        add(f"{data}/data/share/man/man{path.suffix[1:]}/{path.name}", path.read_bytes())
    for shell, text in common.completions(binary).items():
        add(f"{data}/data/share/{common.COMPLETIONS[shell]}", text)
    for path in common.schemas():
        add(f"{data}/data/share/transfer-run/schemas/{path.name}", path.read_bytes())
    for license in ["LICENSE", "NOTICE"]:
        add(f"{info}/{license}", (common.ROOT / license).read_bytes())
    add(f"{info}/sboms/transfer-run.spdx.json", sbom.text(binary))
    add(f"{info}/METADATA", metadata())
    add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: transfer-run\nRoot-Is-Purelib: false\nTag: {tag}\n")
    record = f"{info}/RECORD"
    lines = [f"{path},sha256={digest(content)},{len(content)}\n" for path, (content, _) in sorted(files.items())]
    add(record, "".join(lines) + f"{record},,\n")

    buffer = io.BytesIO()
    # Zip knows no time before 1980.
    date = time.gmtime(max(common.epoch(), 315532800))[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # Files of dist-info are last: an archive's end is read first.
        for path, (content, mode) in sorted(files.items(), key=lambda file: (file[0].startswith(info), file[0])):
            entry = zipfile.ZipInfo(path, date)
            entry.create_system, entry.compress_type = 3, zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    common.publish(f"{name}-{tag}.whl", buffer.getvalue())


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
