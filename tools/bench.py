#!/usr/bin/env python3
"""Whole runs of the built binary beside other programs, in turn, medians and all rounds shown.

usage: bench.py SERVER DOCROOT FOLDER    (called by tools/bench.sh)
"""
import filecmp
import os
import statistics
import subprocess
import sys
import time

BINARY = os.environ.get("TRANSFER_RUN_BINARY", ".build/release/transfer-run")
CONNECTIONS = 32


def job(server, names, folder):
    lines = [
        "version: 1",
        "name: bench",
        f"limits: {{ maximumConcurrentTasks: {CONNECTIONS} }}",
        "sessions:",
        "  bench:",
        f"    maximumConnectionsPerHost: {CONNECTIONS}",
        '    http: { version: "1.1" }',
        f"report: {folder}.report.json",
        "tasks:",
    ]
    for number, name in enumerate(names):
        url, path = f"{server}/small/{name}", f"{folder}/{name}"
        lines.append(f'  - {{ id: t{number}, session: bench, url: "{url}", type: download, to: "{path}" }}')
    return "\n".join(lines) + "\n"


def timed(command):
    """Wall and processor seconds and the peak of memory (MiB) of one process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {command[0]} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def row(name, rounds):
    walls = [r[0] for r in rounds]
    shown = " ".join(f"{wall:.3f}" for wall in walls)
    print(
        f"{name:14} {statistics.median(walls):8.3f} s wall {statistics.median(r[1] for r in rounds):8.3f} s processor"
        f" {max(r[2] for r in rounds):7.1f} MiB   ({shown})"
    )
    return statistics.median(walls)


def downloads(server, docroot, folder, rounds=5):
    names = sorted(os.listdir(docroot))
    ours, curls = [], []
    for number in range(rounds):
        place = f"{folder}/ours{number}"
        os.makedirs(place)
        with open(f"{place}.yaml", "w") as file:
            file.write(job(server, names, place))
        ours.append(timed([BINARY, "run", "--progress", "none", f"{place}.yaml"]))
        _, wrong, missing = filecmp.cmpfiles(docroot, place, names, shallow=False)
        if wrong or missing or len(os.listdir(place)) != len(names):
            sys.exit(f"bench: {len(wrong)} files are wrong, {len(missing)} are missing")
        place = f"{folder}/curl{number}"
        os.makedirs(place)
        with open(f"{place}.cfg", "w") as file:
            file.writelines(f'url = "{server}/small/{name}"\noutput = "{place}/{name}"\n' for name in names)
        curls.append(
            timed(
                ["curl", "-q", "-s", "-S", "--http1.1", "--parallel", "--parallel-max", str(CONNECTIONS)]
                + ["--parallel-immediate", "-K", f"{place}.cfg"]
            )
        )
    print(f"{len(names)} downloads of 1 KiB over {CONNECTIONS} connections, job file and report included")
    ratio = row("transfer-run", ours) / row("curl -Z", curls)
    print(f"ratio of the medians: {ratio:.2f}")


def start_up(folder, rounds=41):
    path = f"{folder}/small.yaml"
    with open(path, "w") as file:
        file.write('tasks: [ { url: "https://example.org/a", id: a, to: a } ]\n')
    walls = sorted(timed([BINARY, "check", path])[0] for _ in range(rounds))
    print(f"start-up of `check` on a small file: {walls[len(walls) // 2] * 1e3:.1f} ms (median of {rounds})")


def loaders(folder, rounds=5):
    path = f"{folder}/ours0.yaml"
    program = f"import yaml; yaml.load(open({path!r}, 'rb'), Loader=yaml.CSafeLoader)"
    ours = [timed([BINARY, "check", path]) for _ in range(rounds)]
    # Debian's own interpreter has the loader that stands on libyaml.
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"
    theirs = [timed([python, "-c", program]) for _ in range(rounds)]
    print("a job of 10,000 tasks: `transfer-run check` (all of it) beside PyYAML's C loader (parsing alone)")
    ratio = row("transfer-run", ours) / row("PyYAML", theirs)
    print(f"ratio of the medians: {ratio:.2f}")


def large(folder, count=100_000, rounds=3):
    path = f"{folder}/large.yaml"
    with open(path, "w") as file:
        file.write(job("https://mirror.example.org", [f"f{number:06}.bin" for number in range(count)], f"{folder}/large"))
    print(f"`check` of a job of {count} tasks")
    row("transfer-run", [timed([BINARY, "check", path]) for _ in range(rounds)])


def bandwidth(server, docroot, folder, tasks=8, size=5_000_000, rate=4_000_000):
    """A rate over ten seconds, shared by several downloads."""
    source = os.path.join(os.path.dirname(docroot), "rate.bin")
    with open(source, "wb") as file:
        file.write(os.urandom(size))
    path = f"{folder}/rate.yaml"
    with open(path, "w") as file:
        file.write(f"limits: {{ bandwidth: {rate // 1000}kB/s }}\nreport: none\ntasks:\n")
        for number in range(tasks):
            file.write(f'  - {{ id: t{number}, url: "{server}/rate.bin", to: "{folder}/rate/{number}" }}\n')
    wall, _, _ = timed([BINARY, path])
    reached = tasks * size / wall
    print(f"`bandwidth: {rate / 1e6:g}MB/s` over {tasks} downloads of {size / 1e6:g} MB: {wall:.2f} s,"
          f" {reached / 1e6:.3f} MB/s, {100 * (reached / rate - 1):+.1f} %")


def main():
    server, docroot, folder = sys.argv[1:]
    os.makedirs(folder)
    downloads(server, docroot, folder)
    print()
    loaders(folder)
    print()
    large(folder)
    print()
    bandwidth(server, docroot, folder)
    print()
    start_up(folder)


if __name__ == "__main__":
    main()
