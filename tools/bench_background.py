#!/usr/bin/env python3
"""What it costs that a process of its own carries a run: beside the same run in the foreground, to be handed over, to be
small, and to go on for long.

usage: bench_background.py SERVER DOCROOT FOLDER [whole] [handover] [small] [soak]    (called by tools/bench.sh: all four)

SOAK is how many seconds the last one lasts, 20 unless said; 604800 is a week.
"""
import collections
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time

import bench
from bench import BINARY


def job(server, names, folder, identifier=None, durability="flush", connections=32, task=""):
    """The small job of `bench.py`, to be carried by the background process if it has an identifier."""
    kind = f"configuration: background, identifier: {identifier}, " if identifier else ""
    lines = [
        f"name: {os.path.basename(folder)}",
        f"limits: {{ maximumConcurrentTasks: {connections} }}",
        f"sessions: {{ s: {{ {kind}durability: {durability}, maximumConnectionsPerHost: {connections},"
        " discretionary: false } }",
        "defaults: { session: s, retry: { attempts: 1 } }",
        f"report: {folder}.report.json",
        "tasks:",
    ]
    lines += [f'  - {{ id: t{n}, url: "{server}/{name}", to: "{folder}/{name}"{task} }}' for n, name in enumerate(names)]
    return "\n".join(lines) + "\n"


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


class Service:
    """The background process of one state folder, as `/proc` shows it."""

    def __init__(self, folder):
        self.folder = folder
        os.environ["TRANSFER_RUN_STATE_DIR"] = folder

    @property
    def process(self):
        try:
            with open(f"{self.folder}/background.lock") as file:
                number = json.load(file)["pid"]
            with open(f"/proc/{number}/cmdline") as file:
                return number if "daemon" in file.read() else None
        except (OSError, ValueError):
            return None

    def start(self):
        """Any command does: it looks for the process and starts it."""
        if self.process is None:
            self.child = subprocess.Popen([BINARY, "daemon"], stderr=subprocess.DEVNULL)
            self.wait_for(f"{self.folder}/runtime/background.sock")

    @staticmethod
    def wait_for(path, seconds=60):
        end = time.monotonic() + seconds
        while not os.path.exists(path):
            if time.monotonic() > end:
                sys.exit(f"bench: {path} does not come")
            time.sleep(0.001)

    def stop(self):
        number = self.process
        if number is None:
            return
        os.kill(number, signal.SIGTERM)
        child = getattr(self, "child", None)
        if child is not None and child.pid == number:
            child.wait()
        while self.process is not None:
            time.sleep(0.005)

    def processor(self):
        """Seconds so far."""
        with open(f"/proc/{self.process}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def standing(self):
        """Resident MiB, descriptors, threads, and MiB of the journal."""
        number = self.process
        if number is None:
            return None
        try:
            with open(f"/proc/{number}/status") as file:
                status = dict(line.split(":", 1) for line in file)
            descriptors = len(os.listdir(f"/proc/{number}/fd"))
        except OSError:
            return None
        journal = sum(
            os.path.getsize(f"{self.folder}/journal.sqlite{end}")
            for end in ["", "-wal"] if os.path.exists(f"{self.folder}/journal.sqlite{end}"))
        return int(status["VmRSS"].split()[0]) / 1024, descriptors, int(status["Threads"]), journal / (1 << 20)


# --- 10,000 × 1 KiB


def whole(server, root, folder, rounds=7):
    """Each round all of them in turn, and every file compared."""
    service = Service(f"{folder}/state")
    service.start()
    names = sorted(os.listdir(f"{root}/small"))
    shapes = ["foreground", "followed", "left"]
    walls = {(durability, shape): [] for durability in ["flush", "none"] for shape in shapes}
    for number in range(rounds):
        for durability, shape in walls:
            place = f"{folder}/whole-{durability}-{shape}{number}"
            identifier = None if shape == "foreground" else f"org.example.{durability}.{shape}{number}"
            os.makedirs(place)
            path = write(f"{place}.yaml", job(f"{server}/small", names, place, identifier, durability))
            before = service.processor()
            command = [BINARY, "run", "--progress", "none", path] + (["--detach"] if shape == "left" else [])
            wall, processor, memory = bench.timed(command)
            if shape == "left":
                start = time.monotonic()
                service.wait_for(f"{place}.report.json")
                wall += time.monotonic() - start
            time.sleep(0.1)
            walls[durability, shape].append((wall, processor + service.processor() - before, memory))
            bench.compare(f"{root}/small", place, names)
    print(f"{len(names)} × 1 KiB over 32 connections: here, by the background process and followed, and left to it"
          " until the report is there; processor of both processes")
    for (durability, shape), times in walls.items():
        bench.row(f"{durability} {shape}", times)
    for durability in ["flush", "none"]:
        for shape in shapes[1:]:
            pairs = [b[0] / a[0] for a, b in zip(walls[durability, "foreground"], walls[durability, shape])]
            least = min(t[0] for t in walls[durability, shape]) / min(t[0] for t in walls[durability, "foreground"])
            print(f"`{durability}`, {shape}: {statistics.median(pairs):.2f} × the foreground, median of {rounds} pairs;"
                  f" {least:.2f} × of the least")
    service.stop()


# --- Handing over


def handover(server, root, folder, rounds=7):
    """Until `--detach` returns: the tasks wait, so that nothing but that is measured."""
    service = Service(f"{folder}/state-handover")
    service.start()
    names = sorted(os.listdir(f"{root}/small"))
    times = []
    for number in range(rounds):
        place = f"{folder}/handover{number}"
        identifier = f"org.example.handover{number}"
        path = write(f"{place}.yaml", job(f"{server}/small", names, place, identifier, task=", suspended: true"))
        times.append(bench.timed([BINARY, "run", "--progress", "none", "--detach", path]))
        subprocess.run([BINARY, "cancel", identifier], stdout=subprocess.DEVNULL, check=True)
        service.wait_for(f"{place}.report.json")
    print(f"{len(names)} tasks handed over, until `--detach` returns")
    bench.row("--detach", times)
    service.stop()


# --- A small run


def small(server, folder, rounds=21):
    place = f"{folder}/small"
    os.makedirs(place)
    paths = {}
    for shape in ["foreground", "process there", "process started"]:
        for durability in ["flush", "none"]:
            name = f"{shape}, {durability}"
            identifier = None if shape == "foreground" else re.sub("[^a-z]", ".", name)
            text = job(f"{server}/small", ["f00000.bin"], f"{place}/{len(paths)}", identifier, durability,
                       task=", existing: replace")
            paths[name] = write(f"{place}/{len(paths)}.yaml", text)
    services = {True: Service(f"{folder}/state-started"), False: Service(f"{folder}/state-small")}
    services[False].start()
    walls = collections.defaultdict(list)
    for _ in range(rounds):
        for name, path in paths.items():
            isStarted = "started" in name
            os.environ["TRANSFER_RUN_STATE_DIR"] = services[isStarted].folder
            walls[name].append(bench.timed([BINARY, "run", "--progress", "none", path])[0] * 1e3)
            if isStarted:
                services[True].stop()
    print(f"one file of 1 KiB, {rounds} rounds in turn: median and least")
    for name, times in walls.items():
        print(f"{name:32} {statistics.median(times):6.1f} ms {min(times):6.1f} ms")
    services[False].stop()


# --- For long


class Soak:
    """Runs of all kinds, handed to one process as fast as it takes them, eight at a time."""

    atATime = 8

    def __init__(self, server, folder, seed):
        self.server, self.folder = server, folder
        self.random = random.Random(seed)
        self.service = Service(f"{folder}/state-soak")
        self.kinds = [self.left, self.followed, self.failing, self.suspended, self.cancelled, self.forsaken, self.shared]
        self.counts = collections.Counter()
        self.number = 0
        self.places = list(range(64))
        self.samples = []

    def run(self, seconds):
        self.service.start()
        # It begins with its door, and its threads come behind.
        time.sleep(0.2)
        first = self.service.process
        begin = now = time.monotonic()
        due, pace = begin, max(0.25, seconds / 4000)
        under_way = []
        while now < begin + seconds or under_way:
            if now >= due:
                self.sample(now - begin, first)
                due += pace
            under_way = [one for one in under_way if not self.has_ended(one)]
            while now < begin + seconds and len(under_way) < self.atATime:
                under_way.append(self.begin())
            time.sleep(0.002)
            now = time.monotonic()
        self.sample(now - begin, first)
        # Runs whose report is there may still be on their way out.
        time.sleep(1)
        self.atRest = self.service.standing()

    def sample(self, at, first):
        if self.service.process != first:
            sys.exit("bench: the background process is not the one it was")
        self.samples.append((at,) + self.service.standing())

    def begin(self):
        kind = self.random.choice(self.kinds)
        self.number += 1
        self.counts[kind.__name__] += 1
        # The one that was left longest ago, and never one where somebody still is.
        number = self.places.pop(0)
        steps = kind(f"{self.folder}/soak{number}", f"soak.{self.number}")
        return [steps, next(steps), number]

    def has_ended(self, one):
        """Goes on to the next step where the last is over."""
        steps, isOver, number = one
        while isOver():
            try:
                one[1] = isOver = next(steps)
            except StopIteration:
                self.places.append(number)
                return True
        return False

    # Each kind gives what is to be waited for before it goes on.

    def command(self, *words, statuses=(0,)):
        process = subprocess.Popen([BINARY, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        process.words = words

        def is_over():
            if process.poll() is None:
                return False
            if process.returncode not in statuses:
                sys.exit(f"bench: {' '.join(words)} ended with {process.returncode}: {process.stderr.read()}")
            process.stderr.close()
            return True

        is_over.process = process
        return is_over

    def job(self, place, identifier, wrong=False, task=""):
        # A place is used again: its inodes are met again and again, as those of a mirror are.
        names = [f"f{self.random.randrange(10_000):05}.bin" for _ in range(self.random.randint(1, 20))]
        if wrong:
            names.append("not-there.bin")
        if os.path.exists(f"{place}.report.json"):
            os.remove(f"{place}.report.json")
        place_of_files = place
        text = job(f"{self.server}/small", list(dict.fromkeys(names)), place_of_files, identifier,
                   self.random.choice(["flush", "none"]), task=f", existing: replace{task}")
        return write(f"{place}.yaml", text.replace(f"name: {os.path.basename(place)}", f"name: {identifier}"))

    def reported(self, place):
        return lambda: os.path.exists(f"{place}.report.json")

    def left(self, place, identifier):
        yield self.command("run", "--detach", self.job(place, identifier))
        yield self.reported(place)

    def followed(self, place, identifier):
        yield self.command("run", "--progress", "none", self.job(place, identifier))

    def failing(self, place, identifier):
        yield self.command("run", "--progress", "none", self.job(place, identifier, wrong=True), statuses=(1,))

    def suspended(self, place, identifier):
        yield self.command("run", "--detach", self.job(place, identifier, task=", suspended: true"))
        yield self.command("resume", identifier)
        yield self.reported(place)

    def cancelled(self, place, identifier):
        yield self.command("run", "--detach", self.job(place, identifier, task=", suspended: true"))
        yield self.command("cancel", identifier)
        yield self.reported(place)

    def forsaken(self, place, identifier):
        """Its follower is interrupted, and another comes back."""
        path = self.job(place, identifier)
        follower = self.command("run", "--progress", "none", path, statuses=(0, 130, -2))
        end = time.monotonic() + self.random.uniform(0.005, 0.05)
        yield lambda: time.monotonic() >= end
        if follower.process.poll() is None:
            follower.process.send_signal(signal.SIGINT)
        yield follower
        yield self.command("run", "--progress", "none", path)

    def shared(self, place, identifier):
        """Somebody else comes to look, and goes when he likes."""
        path = self.job(place, identifier, task=", suspended: true")
        yield self.command("run", "--detach", path)
        other = self.command("attach", "--progress", "none", "--no-report", identifier, statuses=(0, 2, 130, -2))
        yield self.command("resume", identifier)
        if self.random.random() < 0.5 and other.process.poll() is None:
            other.process.send_signal(signal.SIGINT)
        yield other
        yield self.reported(place)


def soak(server, folder):
    seconds = float(os.environ.get("SOAK", "20"))
    seed = int(os.environ.get("SOAK_SEED", "1"))
    one = Soak(server, folder, seed)
    one.run(seconds)
    kinds = ", ".join(f"{count} {kind}" for kind, count in one.counts.most_common())
    print(f"one process for {seconds:g} s: {one.number} runs ({kinds}), {len(one.samples)} looks")
    # What it was after a fifth of the time has to last for the rest of it.
    samples = one.samples[len(one.samples) // 5:]
    half = len(samples) // 2
    print("resident MiB, a tenth of the time each: " + " ".join(
        f"{statistics.median(s[1] for s in part):.1f}" for part in
        (one.samples[len(one.samples) * n // 10: len(one.samples) * (n + 1) // 10] for n in range(10))))
    hasGrown = False
    for column, (name, spare) in enumerate(
            [("resident MiB", 8), ("descriptors", 16), ("threads", 16), ("journal MiB", None)], 1):
        values = [s[column] for s in one.samples]
        early, late = (statistics.median(s[column] for s in part) for part in [samples[:half], samples[half:]])
        print(f"{name:14} first {values[0]:7.1f}   last {values[-1]:7.1f}   peak {max(values):7.1f}"
              f"   median {early:7.1f}, then {late:7.1f}")
        if spare is not None:
            hasGrown = hasGrown or late > early * 1.15 + spare
        else:
            # Events are kept for a day, up to 64 MiB (`JournalBounds`).
            hasGrown = hasGrown or max(values) > 64 * 1.25 + 8
    resident, descriptors, threads, journal = one.atRest
    print(f"at rest        {resident:.1f} MiB, {descriptors} descriptors, {threads} threads, {journal:.1f} MiB of journal")
    # At rest it has what it had before the first run, but for descriptors that SQLite may not close while another
    # connection has the same file locked: it uses them for the next opening, so there are as many as there were at a time.
    if hasGrown or descriptors > one.samples[0][2] + 4 * one.atATime or threads > one.samples[0][3] + 2:
        sys.exit("bench: the background process grows")
    one.service.stop()


def main():
    server, root, folder = sys.argv[1:4]
    wanted = sys.argv[4:] or ["whole", "handover", "small", "soak"]
    os.makedirs(folder)
    if "whole" in wanted:
        whole(server, root, folder)
        print()
    if "handover" in wanted:
        handover(server, root, folder)
        print()
    if "small" in wanted:
        small(server, folder)
        print()
    if "soak" in wanted:
        soak(server, folder)


if __name__ == "__main__":
    main()
