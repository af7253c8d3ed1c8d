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

# folder of the server: files, bytes of each, connections
WORKLOADS = {
    "small": (10_000, 1 << 10, 32),
    "mid": (2_000, 64 << 10, 16),
    "big": (200, 1 << 20, 8),
    "huge": (1, 1 << 30, 1),
}


def job(server, names, folder, connections=32, keys=""):
    lines = [
        "version: 1",
        "name: bench",
        f"limits: {{ maximumConcurrentTasks: {connections} }}",
        "sessions:",
        "  bench:",
        f"    maximumConnectionsPerHost: {connections}",
        '    http: { version: "1.1" }',
        f"report: {folder}.report.json",
        "tasks:",
    ]
    for number, name in enumerate(names):
        url, path = f"{server}/{name}", f"{folder}/{name}"
        lines.append(f'  - {{ id: t{number}, session: bench, url: "{url}", type: download, to: "{path}"{keys} }}')
    return "\n".join(lines) + "\n"


def timed(command, status=0):
    """Wall and processor seconds and the peak of memory (MiB) of one process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, ended, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(ended)
    if process.returncode != status:
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


def peer(name, server, names, place, connections):
    """What fetches the same files with another program."""
    if name == "curl -Z":
        with open(f"{place}.cfg", "w") as file:
            file.writelines(f'url = "{server}/{n}"\noutput = "{place}/{n}"\n' for n in names)
        return ["curl", "-q", "-s", "-S", "--http1.1", "--parallel", "--parallel-max", str(connections),
                "--parallel-immediate", "-K", f"{place}.cfg"]
    with open(f"{place}.urls", "w") as file:
        file.writelines(f"{server}/{n}\n" for n in names)
    if name == "wget2":
        return ["wget2", "-q", "--no-config", f"--max-threads={connections}", "-i", f"{place}.urls", "-P", place]
    return ["aria2c", "--no-conf", "-q", "-i", f"{place}.urls", "-d", place, "-j", str(connections), "-x1", "-s1",
            "--file-allocation=none", "--async-dns=false", "--disk-cache=64M"]


def compare(docroot, place, names):
    _, wrong, missing = filecmp.cmpfiles(docroot, place, names, shallow=False)
    if wrong or missing or len(os.listdir(place)) != len(names):
        sys.exit(f"bench: {len(wrong)} files are wrong, {len(missing)} are missing")


def downloads(kind, server, root, folder, rounds=5):
    count, size, connections = WORKLOADS[kind]
    server, docroot = f"{server}/{kind}", f"{root}/{kind}"
    names = sorted(os.listdir(docroot))
    times = {name: [] for name in ["transfer-run", "curl -Z", "wget2", "aria2c"]}
    for number in range(rounds):
        # In turn first: whoever comes after another that filled the disk's cache waits for it to be written.
        for name in list(times)[number % 4 :] + list(times)[: number % 4]:
            place = f"{folder}/{kind}-{name.split()[0]}{number}"
            os.makedirs(place)
            if name == "transfer-run":
                with open(f"{place}.yaml", "w") as file:
                    file.write(job(server, names, place, connections))
                command = [BINARY, "run", "--progress", "none", f"{place}.yaml"]
            else:
                command = peer(name, server, names, place, connections)
            times[name].append(timed(command))
            compare(docroot, place, names)
            if kind == "huge":
                os.remove(f"{place}/{names[0]}")
    unit = f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
    print(f"{count} × {unit} over {connections} connections, job file and report included")
    medians = {name: row(name, rounds) for name, rounds in times.items()}
    ratios = ", ".join(f"{medians['transfer-run'] / m:.2f} × {n}" for n, m in medians.items() if n != "transfer-run")
    print(f"ratios of the medians: {ratios}\n")


def uploads(server, root, folder, count=500, connections=16, rounds=11):
    """The first files of 64 KiB sent by PUT, beside curl. The server puts them beside `folder` (tools/bench.sh)."""
    names = sorted(os.listdir(f"{root}/mid"))[:count]
    times = {"transfer-run": [], "curl -Z": []}
    for number in range(rounds):
        for name in times:
            place = f"sink/{name.split()[0]}{number}"
            to = f"{server}/{place}"
            pairs = [(f"{to}/{file}", f"{root}/mid/{file}") for file in names]
            if name == "transfer-run":
                command = [BINARY, "run", "--progress", "none", f"{folder}/put{number}.yaml"]
                with open(command[-1], "w") as file:
                    file.write(f"limits: {{ maximumConcurrentTasks: {connections} }}\nname: put\n")
                    file.write(f"report: {folder}/put{number}.report.json\n")
                    file.write(f"sessions: {{ s: {{ maximumConnectionsPerHost: {connections} }} }}\ntasks:\n")
                    for index, (url, path) in enumerate(pairs):
                        file.write(f'  - {{ id: t{index}, session: s, type: upload, method: PUT, url: "{url}",'
                                   f' body: {{ file: "{path}" }} }}\n')
            else:
                command = ["curl", "-q", "-s", "-S", "--parallel", "--parallel-max", str(connections),
                           "--parallel-immediate", "-K", f"{folder}/put.cfg"]
                with open(command[-1], "w") as file:
                    file.writelines(f'url = "{u}"\nupload-file = "{p}"\noutput = "/dev/null"\n' for u, p in pairs)
            times[name].append(timed(command))
            # curl calls an answer of 500 a success.
            compare(f"{root}/mid", f"{os.path.dirname(folder)}/{place}", names)
    print(f"{count} × 64 KiB sent by PUT over {connections} connections, job file and report included")
    medians = {name: row(name, rounds) for name, rounds in times.items()}
    print(f"ratio of the medians: {medians['transfer-run'] / medians['curl -Z']:.2f} × curl -Z\n")


def unchanged(server, root, folder, rounds=5):
    """The same job again: each file is asked for with its tag, and none comes."""
    names = sorted(os.listdir(f"{root}/small"))
    place = f"{folder}/again"
    with open(f"{place}.yaml", "w") as file:
        file.write(job(f"{server}/small", names, place))
    command = [BINARY, "run", "--progress", "none", "--exit-unchanged", f"{place}.yaml"]
    timed(command)
    print(f"the same {len(names)} again, none of them changed")
    row("transfer-run", [timed(command, status=9) for _ in range(rounds)])


def segments(server, root, folder):
    """One file from a server that gives each request 100 MiB a second, and from one that does not."""
    name = os.listdir(f"{root}/huge")[0]
    print("1 GiB in several ranges")
    for kind in ["limited", "huge"]:
        for count in [1, 4]:
            place = f"{folder}/{kind}{count}"
            with open(f"{place}.yaml", "w") as file:
                file.write(job(f"{server}/{kind}", [name], place, 4, f", segments: {count}"))
            rounds = [timed([BINARY, "run", "--progress", "none", f"{place}.yaml"])]
            row(f"{'100 MiB/s' if kind == 'limited' else 'unlimited'}, {count}", rounds)
            os.remove(f"{place}/{name}")


def start_up(server, folder, rounds=41):
    path = f"{folder}/small.yaml"
    url = f"{server}/small/f00000.bin"
    with open(path, "w") as file:
        file.write(f'name: small\ntasks: [ {{ url: "{url}", id: a, to: "{folder}/small.out", existing: replace }} ]\n')
    commands = {
        "`check` of a small job": [BINARY, "check", path],
        "`curl --version`": ["curl", "--version"],
        "`run` of it, one file of 1 KiB": [BINARY, "run", "--progress", "none", path],
        "`curl` for the same file": ["curl", "-q", "-s", "-o", f"{folder}/small.curl", url],
    }
    walls = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            walls[name].append(timed(command)[0] * 1e3)
    print(f"start to exit, {rounds} rounds in turn: median and least")
    for name, times in walls.items():
        print(f"{name:32} {statistics.median(times):6.1f} ms {min(times):6.1f} ms")


def loaders(folder, rounds=5):
    path = f"{folder}/small-transfer-run0.yaml"
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


def bandwidth(server, root, folder, tasks=8, size=5_000_000, rate=4_000_000):
    """A rate over ten seconds, shared by several downloads."""
    source = os.path.join(root, "rate.bin")
    with open(source, "wb") as file:
        file.write(os.urandom(size))
    path = f"{folder}/rate.yaml"
    with open(path, "w") as file:
        file.write(f"limits: {{ bandwidth: {rate // 1000}kB/s }}\nreport: none\ntasks:\n")
        for number in range(tasks):
            file.write(f'  - {{ id: t{number}, url: "{server}/rate.bin?{number}", to: "{folder}/rate/{number}" }}\n')
    wall, _, _ = timed([BINARY, path])
    reached = tasks * size / wall
    print(f"`bandwidth: {rate / 1e6:g}MB/s` over {tasks} downloads of {size / 1e6:g} MB: {wall:.2f} s,"
          f" {reached / 1e6:.3f} MB/s, {100 * (reached / rate - 1):+.1f} %")


def serve(root):
    """Makes what the server lacks."""
    for kind, (count, size, _) in WORKLOADS.items():
        os.makedirs(f"{root}/{kind}", exist_ok=True)
        for number in range(len(os.listdir(f"{root}/{kind}")), count):
            with open(f"{root}/{kind}/f{number:05}.bin", "wb") as file:
                for _ in range(max(1, size >> 20)):
                    file.write(os.urandom(min(size, 1 << 20)))


def versions():
    """The programs that are compared, as they name themselves."""
    for program in [BINARY, "curl", "wget2", "aria2c"]:
        text = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        print(text.splitlines()[0])
    print()


def main():
    server, root, folder = sys.argv[1:]
    versions()
    os.makedirs(folder)
    # What runs keep for the next must not come from another round, nor go to the user's own folder.
    os.environ["TRANSFER_RUN_STATE_DIR"] = f"{folder}/state"
    serve(root)
    for kind in WORKLOADS:
        downloads(kind, server, root, folder)
    uploads(server, root, folder)
    unchanged(server, root, folder)
    print()
    segments(server, root, folder)
    print()
    loaders(folder)
    print()
    large(folder)
    print()
    bandwidth(server, root, folder)
    print()
    start_up(server, folder)


if __name__ == "__main__":
    main()
