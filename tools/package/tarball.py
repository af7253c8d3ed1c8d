#!/usr/bin/python3
"""Makes .build/package/transfer-run-VERSION-linux-ARCH.tar.gz, which is unpacked anywhere and run.

usage: tools/package/tarball.py    (after `make build STATIC=1`)
"""

import common
import sbom

COMPLETIONS = {"bash": "transfer-run.bash", "zsh": "_transfer-run", "fish": "transfer-run.fish"}


def main():
    binary = common.program()
    tree = common.Tree()
    tree.add("bin/transfer-run", binary, 0o755)
    for shell, text in common.completions(binary).items():
        tree.add(f"complete/{COMPLETIONS[shell]}", text)
    for path in common.manuals():
        tree.add(f"man/man{path.suffix[1:]}/{path.name}", path)
    for path in common.schemas():
        tree.add(f"schemas/{path.name}", path)
    for path in [common.ROOT / "LICENSE", *common.documents()]:
        tree.add(str(path.relative_to(common.ROOT)), path)
    tree.add("sbom.spdx.json", sbom.text(binary))
    tree.add("SHA256SUMS", tree.sums())
    name = f"transfer-run-{common.version()}-linux-{common.machine()}"
    common.publish(f"{name}.tar.gz", common.packed(tree.tar(prefix=f"{name}/")))


if __name__ == "__main__":
    main()
