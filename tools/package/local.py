#!/usr/bin/python3
"""Installs the program with its manual pages, completions, schemas and units of systemd below a folder, or removes them.

Units are started from the installed program. systemd finds them where PREFIX is /usr or /usr/local.

usage: tools/package/local.py install BINARY DESTDIR PREFIX
       tools/package/local.py uninstall DESTDIR PREFIX
"""

import pathlib
import subprocess
import sys

import common


def files(prefix, binary=None):
    """The paths below PREFIX with their content; without a program only the paths are right."""
    tree = common.Tree()
    texts = common.completions(binary) if binary else dict.fromkeys(common.COMPLETIONS, "")
    for shell, text in texts.items():
        tree.add(f"share/{common.COMPLETIONS[shell]}", text)
    for path in common.manuals():
        tree.add(f"share/man/man{path.suffix[1:]}/{path.name}", path)
    for path in common.schemas():
        tree.add(f"share/transfer-run/schemas/{path.name}", path)
    for path, text in common.units(f"{prefix}/bin").items():
        tree.add(f"lib/systemd/{path}", text)
    for kind in ["sysusers", "tmpfiles"]:
        tree.add(f"lib/{kind}.d/transfer-run.conf", common.ROOT / f"packaging/debian/{kind}.conf")
    return {path: content for path, (_, content) in sorted(tree.entries.items())}


def install(binary, root, prefix):
    place = root / "bin/transfer-run"
    subprocess.run(["install", "-D", "-m", "755", "-s", str(binary), str(place)], check=True)
    print(place)
    for path, content in files(prefix, binary).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        place.chmod(0o644)
        print(place)


def uninstall(root, prefix):
    for path in ["bin/transfer-run", *files(prefix)]:
        place = root / path
        if place.is_symlink() or place.exists():
            place.unlink()
            print(f"removed {place}")
    # The folders that are its own; one with another file in it stays.
    for folder in ["share/transfer-run/schemas", "share/transfer-run"]:
        try:
            (root / folder).rmdir()
        except OSError:
            pass


def main():
    words = sys.argv[1:]
    if len(words) == 4 and words[0] == "install" or len(words) == 3 and words[0] == "uninstall":
        destination, prefix = words[-2:]
        if not prefix.startswith("/"):
            common.fail(f"PREFIX is an absolute path, not `{prefix}`")
        root = pathlib.Path(destination + prefix)
        return install(pathlib.Path(words[1]), root, prefix) if words[0] == "install" else uninstall(root, prefix)
    sys.exit(__doc__.split("usage: ")[1].strip())


if __name__ == "__main__":
    main()
