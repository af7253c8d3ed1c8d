#!/usr/bin/env python3
"""Writes tools/link/hot-functions.txt: what many small transfers call again and again, most called first, and after
that what a run calls at all, as when it begins and ends.

The linker puts these functions side by side at the start of the program (Package.swift), so that a run touches few
pages of it. A name that no longer exists does no harm, and one that is missing only stands where it would anyway.

usage: tools/hot_functions.py BINARY
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TASKS = 400
# Less than once in so many tasks is not again and again.
SELDOM = 10
ROOT = pathlib.Path(__file__).resolve().parent.parent


def task(number, site, work):
    """Every kind in turn: two downloads, one of them checked, an upload and a data task."""
    name = f"t{number}"
    if number % 4 == 0:
        body = {"file": str(work / "body")}
        return {"id": name, "type": "upload", "method": "PUT", "url": f"{site}/put/{name}", "body": body}
    if number % 4 == 1:
        return {"id": name, "type": "data", "url": f"{site}/status.json"}
    written = {"id": name, "type": "download", "url": f"{site}/long.bin", "to": str(work / "got" / name)}
    if number % 4 == 2:
        written["checksum"] = "sha256:" + subprocess.check_output(["sha256sum", work / "site/long.bin"], text=True)[:64]
    return written


def calls(profile, program):
    """How often each function of the program was called, by its linker's name. The format: callgrind(1)."""
    names = {"fn": {}, "ob": {}}
    counts = collections.Counter()
    here = called = callee = None

    def full(kind, text):
        number, name = re.match(r"\((\d+)\)(?: (.*))?$", text).groups()
        if name:
            names[kind][number] = name
        return names[kind][number]

    for line in open(profile):
        key, _, value = line.rstrip("\n").partition("=")
        if key == "ob":
            here = full("ob", value)
        elif key == "cob":
            called = full("ob", value)
        elif key == "fn":
            full("fn", value)
        elif key == "cfn":
            callee = full("fn", value)
        elif key == "calls":
            if (called or here) == str(program) and not callee.startswith("0x"):
                counts[re.sub(r"'\d+$", "", callee)] += int(value.split()[0])
            called = None
    return counts


def main(binary):
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder).resolve()
        (work / "site").mkdir()
        (work / "got").mkdir()
        (work / "site/status.json").write_bytes(b'{"state": "fine"}\n')
        for name in ("site/long.bin", "body"):
            (work / name).write_bytes(bytes(range(256)) * 256)
        # valgrind does not understand the debug information of Swift.
        program = work / "transfer-run"
        subprocess.run(["strip", "--strip-debug", "-o", program, binary], check=True)
        serve = [sys.executable, str(ROOT / "examples/server.py"), str(work / "site")]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        try:
            site = f"http://127.0.0.1:{server.stdout.readline().strip()}"
            tasks = [task(number, site, work) for number in range(TASKS)]
            job = {"version": 1, "report": str(work / "report.json"), "tasks": tasks}
            # JSON is YAML; a line for each task.
            lines = ",\n".join(json.dumps(task) for task in tasks)
            job = json.dumps({**job, "tasks": []}).replace('"tasks": []', '"tasks": [\n' + lines + "\n]")
            (work / "job.yaml").write_text(job)
            profile = work / "profile"
            subprocess.run(
                ["valgrind", "--quiet", "--tool=callgrind", "--demangle=no", f"--callgrind-out-file={profile}"]
                + [program, "run", work / "job.yaml", "--state-dir", work / "state"],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        finally:
            server.terminate()
            server.wait()
        counts = sorted(calls(profile, program).items(), key=lambda pair: (-pair[1], pair[0]))
        hot = [name for name, count in counts if count >= TASKS // SELDOM]
        seldom = sorted(name for name, count in counts if count < TASKS // SELDOM)
    (ROOT / "tools/link/hot-functions.txt").write_text("\n".join(hot + seldom) + "\n")
    print(f"tools/link/hot-functions.txt: {len(hot)} functions called again and again, {len(seldom)} others")


main(sys.argv[1])
