#!/usr/bin/python3
"""Makes an OCI image layout, .build/package/transfer-run-VERSION-oci, and the same as one tar file. Docker is not needed.

The image has two layers: libraries, certificates and time zones of the Debian that built it, with their copyright files;
then the program. It has no shell: commands that a job names are not there, unless another image is made from this one.

usage: tools/package/image.py    (after `make build STATIC=1`)
"""

import hashlib
import json
import pathlib
import re
import shutil
import stat
import subprocess
import time

import common
import sbom

# The user of the image: no name of the machine that runs it has this number.
USER = 65532
LIBRARIES = pathlib.PurePosixPath("usr/lib") / common.run("gcc", "-print-multiarch").strip()


def cached():
    """Paths of the shared libraries that the dynamic linker knows, by name."""
    return {name: path for name, path in re.findall(r"^\s*(\S+) .*=> (\S+)$", common.run("ldconfig", "-p"), re.M)}


def closure(binary):
    """Every library that the program is linked to or loads later, and those that these need, by name."""
    known, found = cached(), {}
    # What speaks to services of a desktop has nothing to speak to here.
    waiting = [name for name in common.needed(binary) + common.called_late(binary) if not name.startswith("libsystemd")]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        if name not in known:
            common.fail(f"{name} is not installed on this machine")
        found[name] = pathlib.Path(known[name]).resolve()
        waiting += common.needed(found[name])
    return found


def owner(path):
    for place in [str(path), str(path).removeprefix("/usr")]:
        found = subprocess.run(["dpkg", "-S", place], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return common.fail(f"no package brings {path}")


def base(binary):
    """The layer with what the program finds around it."""
    tree = common.Tree()
    packages = {"ca-certificates", "tzdata", "libc-bin"}
    for name, path in closure(binary).items():
        tree.add(str(LIBRARIES / name), path, 0o755 if name.startswith("ld-") else 0o644)
        packages.add(owner(path))
    linker = next(name for name in common.needed(binary) if name.startswith("ld-linux"))
    for folder in ["bin", "lib", "lib64", "sbin"]:
        tree.link(folder, f"usr/{folder}")
    # Where the program's header says that the dynamic linker is.
    place = common.run("readelf", "-lW", str(binary)).split("interpreter: ")[1].split("]")[0].strip("/")
    home = "usr/" + place
    if home != str(LIBRARIES / linker):
        tree.link(home, "/" + str(LIBRARIES / linker))
    tree.folder("usr/sbin")
    tree.folder("usr/lib64")
    tree.add("etc/ssl/certs/ca-certificates.crt", pathlib.Path("/etc/ssl/certs/ca-certificates.crt"))
    tree.add("etc/passwd", f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/home/nonroot:/sbin/nologin\n")
    tree.add("etc/group", f"root:x:0:\nnonroot:x:{USER}:\n")
    tree.add("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
    tree.add("etc/os-release", pathlib.Path("/usr/lib/os-release"))
    tree.folder("tmp", 0o1777)
    # Any user may be given to a container: these are for whoever that is.
    tree.folder("home/nonroot", 0o1777)
    tree.folder("work", 0o1777)
    for path in sorted(pathlib.Path("/usr/share/zoneinfo").rglob("*")):
        name = str(path).lstrip("/")
        if path.is_file() and not any(part in ("posix", "right") for part in path.parts):
            tree.add(name, path.resolve())
    for package in sorted(packages):
        copyright = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if copyright.exists():
            tree.add(f"usr/share/doc/{package}/copyright", copyright.resolve())
    return tree


def top(binary):
    """The layer with the program."""
    tree = common.Tree()
    tree.add("usr/bin/transfer-run", binary, 0o755)
    for name in ["LICENSE", "NOTICE"]:
        tree.add(f"usr/share/doc/transfer-run/{name}", common.ROOT / name)
    tree.add("usr/share/doc/transfer-run/sbom.spdx.json", sbom.text(binary))
    for path in common.schemas():
        tree.add(f"usr/share/transfer-run/schemas/{path.name}", path)
    return tree


class Layout:
    """An OCI image layout in a folder."""

    def __init__(self, folder):
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "blobs/sha256").mkdir(parents=True)
        self.put("oci-layout", {"imageLayoutVersion": "1.0.0"})

    def put(self, name, value):
        (self.folder / name).write_text(encoded(value))

    def blob(self, kind, data):
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(data)
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}


def encoded(value):
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def main():
    binary = common.program()
    name = f"transfer-run-{common.version()}-oci"
    layout = Layout(common.OUT / name)
    layers, diffs = [], []
    for tree in [base(binary), top(binary)]:
        data = tree.tar()
        diffs.append("sha256:" + hashlib.sha256(data).hexdigest())
        layers.append(layout.blob("layer.v1.tar+gzip", common.packed(data)))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(common.epoch()))
    labels = {
        "org.opencontainers.image.title": "transfer-run",
        "org.opencontainers.image.description": "Many transfers from one YAML job file",
        "org.opencontainers.image.version": common.version(),
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.created": created,
    }
    platform = {"architecture": common.debian_architecture(), "os": "linux"}
    config = layout.blob("config.v1+json", encoded({
        **platform,
        "created": created,
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/transfer-run"],
            "Cmd": ["--help"],
            "WorkingDir": "/work",
            "Env": ["PATH=/usr/bin", "HOME=/home/nonroot", "LANG=C.UTF-8"],
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": diffs},
        "history": [
            {"created": created, "created_by": "tools/package/image.py", "comment": comment}
            for comment in ["libraries, certificates, time zones", "transfer-run"]
        ],
    }).encode())
    manifest = layout.blob("manifest.v1+json", encoded({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config,
        "layers": layers,
        "annotations": labels,
    }).encode())
    manifest["platform"] = platform
    manifest["annotations"] = {
        "org.opencontainers.image.ref.name": common.version(),
        # The name that `podman load` gives it.
        "io.containerd.image.name": f"localhost/transfer-run:{common.version()}",
    }
    layout.put("index.json", {
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest],
    })
    archive = common.Tree()
    for path in sorted(layout.folder.rglob("*")):
        if path.is_file():
            archive.add(str(path.relative_to(layout.folder)), path)
    common.publish(f"{name}.tar", archive.tar())


if __name__ == "__main__":
    main()
