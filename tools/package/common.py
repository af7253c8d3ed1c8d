"""What every package is made of: the program, and the files beside it.

The same program and commit give the same bytes: names are sorted, times are the commit's (or SOURCE_DATE_EPOCH), owners are
root.
"""

import gzip
import hashlib
import io
import os
import pathlib
import re
import stat
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / ".build" / "package"
# What a program of STATIC=1 may be linked to. All else is in it, or loaded when it is first called.
LINKED = {
    "libc.so.6", "libm.so.6", "libz.so.1", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1",
}


def fail(message):
    sys.exit(f"package: {message}")


def run(*words, **options):
    return subprocess.run(words, check=True, text=True, capture_output=True, **options).stdout


def version():
    text = (ROOT / "Sources/CommandLineTool/CommandLineTool.swift").read_text()
    return re.search(r'static let version = "([^"]+)"', text).group(1)


def epoch():
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    return int(git("log", "-1", "--format=%ct"))


def git(*words):
    return run("git", "-c", "safe.directory=*", "-C", str(ROOT), *words)


def machine():
    return os.uname().machine


def debian_architecture():
    return {"x86_64": "amd64", "aarch64": "arm64"}[machine()]


def needed(binary):
    """The shared libraries that the program is linked to."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-dW", str(binary)))


def called_late(binary):
    """The shared libraries that the program loads by name when it first calls them."""
    names = set(re.findall(rb"(?<=\0)lib[A-Za-z0-9_+-]+(?:-\d+(?:\.\d+)?)?\.so\.[0-9.]+(?=\0)", binary.read_bytes()))
    return sorted({name.decode() for name in names} - set(needed(binary)))


def is_static(binary):
    """Whether libcurl is in the program; else the program loads the system's."""
    return "libcurl.so.4" not in called_late(binary)


def program():
    """The program of STATIC=1, stripped; TRANSFER_RUN_BINARY names another than the last that was built."""
    built = pathlib.Path(os.environ.get("TRANSFER_RUN_BINARY", ROOT / ".build/static/program/release/transfer-run"))
    if not built.exists():
        fail(f"there is no {built}: `make build STATIC=1`")
    others = set(needed(built)) - LINKED
    if others or not is_static(built):
        fail(f"the program was not built with STATIC=1 ({', '.join(sorted(others)) or 'it loads libcurl'})")
    return stripped(built, OUT / "transfer-run")


def system_program():
    """The program that loads the system's libraries, stripped."""
    built = ROOT / ".build/release/transfer-run"
    if not built.exists():
        fail(f"there is no {built}: `make build`")
    if is_static(built):
        fail(f"{built} was built with STATIC=1")
    return stripped(built, OUT / "system" / "transfer-run")


def section(binary, name):
    """Where a section is in the file: its first byte and the one behind its last."""
    found = re.search(rf"\] {re.escape(name)} +\S+ +\S+ (\S+) (\S+)", run("readelf", "-SW", str(binary)))
    offset, size = (int(number, 16) for number in found.groups()) if found else (0, 0)
    return offset, offset + size


def stripped(built, place):
    """The program without what debuggers need. The hashes that the compiler notes for its own next build are not the same in each
    build: they are emptied, and the build's identity is made of what is left."""
    place.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "-o", str(place), str(built)], check=True)
    content = bytearray(place.read_bytes())
    start, end = section(place, ".swift_modhash")
    content[start:end] = bytes(end - start)
    start, end = section(place, ".note.gnu.build-id")
    size = min(20, end - start)
    content[end - size:end] = bytes(size)
    content[end - size:end] = hashlib.sha256(content).digest()[:size]
    place.write_bytes(content)
    return place


# Where completion scripts are looked for, below `share`.
COMPLETIONS = {
    "bash": "bash-completion/completions/transfer-run",
    "zsh": "zsh/site-functions/_transfer-run",
    "fish": "fish/vendor_completions.d/transfer-run.fish",
}


def completions(binary):
    """The completion scripts by shell."""
    return {shell: run(str(binary), "completions", shell) for shell in COMPLETIONS}


def manuals():
    return sorted((ROOT / "man").glob("*.[1-8]"))


def schemas():
    return sorted((ROOT / "schemas").glob("*.json"))


def units(folder):
    """The units of systemd by `system/NAME` and `user/NAME`; `folder` is where the program is installed."""
    systemd = ROOT / "packaging" / "systemd"
    places = {"system": systemd / "system", "user": systemd}
    return {
        f"{kind}/{path.name}": re.sub(r"/usr/(local/)?bin/transfer-run", f"{folder}/transfer-run", path.read_text())
        for kind, place in places.items()
        for path in sorted(place.glob("transfer-run*"))
    }


def committed(*folders):
    """Files that git knows, so that what a run of an example left there is in no package."""
    return [ROOT / name for name in sorted(git("ls-files", "-z", "--", *folders).split("\0")[:-1])]


# Beside README.md, what its pages lead to, but for the sources.
TEXTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md", "NOTICE"]


def documents():
    """README.md, the guides, and the examples, with what they lead to but for licences, schemas and sources."""
    return [ROOT / name for name in TEXTS] + committed("docs", "examples", "packaging/github", "packaging/gitlab", "packaging/schemastore.json")


class Tree:
    """Files and folders of a package, by their paths in it."""

    def __init__(self):
        self.entries = {}

    def add(self, path, content, mode=0o644):
        """Adds a file. A script that is a file of this checkout stays one that can be run."""
        if isinstance(content, pathlib.Path):
            if content.is_relative_to(ROOT) and os.access(content, os.X_OK):
                mode = 0o755
            content = content.read_bytes()
        elif isinstance(content, str):
            content = content.encode()
        self.entries[path] = (mode, content)

    def link(self, path, target):
        self.entries[path] = (stat.S_IFLNK, target)

    def folder(self, path, mode=0o755):
        self.entries[path] = (stat.S_IFDIR | mode, None)

    def sums(self):
        """Lines as sha256sum writes them."""
        files = sorted((path, content) for path, (mode, content) in self.entries.items() if isinstance(content, bytes))
        return "".join(f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in files)

    def _all(self):
        """All entries with the folders that they are in."""
        entries = dict(self.entries)
        for path in self.entries:
            for folder in list(pathlib.PurePosixPath(path).parents)[:-1]:
                entries.setdefault(str(folder), (stat.S_IFDIR | 0o755, None))
        return sorted(entries.items())

    def tar(self, prefix=""):
        """An uncompressed archive."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
            for path, (mode, content) in self._all():
                info = tarfile.TarInfo(prefix + path)
                info.mtime, info.uname, info.gname = epoch(), "root", "root"
                if stat.S_ISDIR(mode):
                    info.type, info.mode = tarfile.DIRTYPE, stat.S_IMODE(mode)
                    archive.addfile(info)
                elif stat.S_ISLNK(mode):
                    info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, content
                    archive.addfile(info)
                else:
                    info.mode, info.size = mode, len(content)
                    archive.addfile(info, io.BytesIO(content))
        return buffer.getvalue()

    def write(self, folder):
        """Lays the files out in a folder."""
        for path, (mode, content) in self._all():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if stat.S_ISDIR(mode):
                place.mkdir(exist_ok=True)
                place.chmod(stat.S_IMODE(mode))
            elif stat.S_ISLNK(mode):
                place.symlink_to(content)
            else:
                place.write_bytes(content)
                place.chmod(mode)


def packed(data):
    """The bytes in gzip, without a name or time."""
    return gzip.compress(data, 9, mtime=0)


def publish(name, data):
    """Puts a finished package in .build/package and says so."""
    OUT.mkdir(parents=True, exist_ok=True)
    place = OUT / name
    place.write_bytes(data)
    print(f"{place.relative_to(ROOT)}  {len(data):,} bytes  sha256:{hashlib.sha256(data).hexdigest()}")
    return place
