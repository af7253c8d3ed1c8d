#!/usr/bin/env python3
"""Changes the rules that decide, one at a time, and tells which change no test notices.

All changes are built into one copy of the tree, in .build/mutate, each behind its number; a run of the tests makes one
of them take effect. First the tests of the room itself are asked, then those of all rooms.

usage: tools/mutate.py [--count N] [--seed N] [--list] [ROOM…]
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOMS = ["HTTPRules", "AttemptLife", "Scheduling", "FileDelivery", "TransferModel"]
# Redaction is a few files of a room that is for the rest data.
ONLY = {"TransferModel": re.compile(r"Redact|Secret|CredentialNames")}
TREE = ".build/mutate"
SWITCH = """// Written by tools/mutate.py.
import Glibc

/// The one change that takes effect in this process.
enum Mutant {
    private static let chosen = unsafe getenv("TRANSFER_RUN_MUTANT").flatMap { unsafe Int32(String(cString: $0)) } ?? -1
    static func flips(_ number: Int32, _ value: Bool) -> Bool { number == chosen ? !value : value }
    static func takes(_ number: Int32, _ other: Bool, for value: Bool) -> Bool { number == chosen ? other : value }
    static func adds<N: FixedWidthInteger>(_ number: Int32, _ value: N) -> N { number == chosen ? value + 1 : value }
}
"""
PLAIN = r"[\\w.]+(?:\\[[\\w.]+\\])?".replace("\\\\", "\\")
BINDS = re.compile(r"\b(let|var|case|try|await|is|as)\b|#|,|\{|;")
EDGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}


def changes(line):
    """The changes that a line offers, each as what it is called and how the line reads with number N."""
    found = []
    edge = re.fullmatch(rf"(\s*(?:if|guard|return|&&|\|\|) )({PLAIN}) (<=|>=|<|>) ({PLAIN})( else)?( \{{.*)?", line)
    if edge:
        start, left, sign, right, otherwise, rest = (part or "" for part in edge.groups())
        other = f"{left} {EDGES[sign]} {right}"
        found.append((f"`{sign}` is `{EDGES[sign]}`", f"{start}Mutant.takes(@N, {other}, for: {left} {sign} {right}){otherwise}{rest}"))
    both = re.fullmatch(rf"(\s*(?:if|guard|return) )(!?{PLAIN}) (&&|\|\|) (!?{PLAIN})( else)?( \{{.*)?", line)
    if both:
        start, left, sign, right, otherwise, rest = (part or "" for part in both.groups())
        other = {"&&": "||", "||": "&&"}[sign]
        found.append((f"`{sign}` is `{other}`", f"{start}Mutant.takes(@N, {left} {other} {right}, for: {left} {sign} {right}){otherwise}{rest}"))
    condition = re.fullmatch(r"(\s*(?:\} else )?(?:if|guard) )(.+?)( else)?( \{.*)", line)
    if condition:
        start, middle, otherwise, rest = (part or "" for part in condition.groups())
        if not BINDS.search(middle) and middle.count("(") == middle.count(")"):
            found.append(("the condition is turned round", f"{start}Mutant.flips(@N, {middle}){otherwise}{rest}"))
    truth = re.fullmatch(r"(\s*return )(true|false)", line)
    if truth:
        found.append((f"`{truth[2]}` is its opposite", f"{truth[1]}Mutant.flips(@N, {truth[2]})"))
    constant = re.fullmatch(r"(\s*(?:private |fileprivate |package )?static let \w+ = )(\d[\d_]*)", line)
    if constant:
        found.append((f"{constant[2]} is one more", f"{constant[1]}Mutant.adds(@N, {constant[2]})"))
    span = re.fullmatch(r"(\s*(?:private |fileprivate |package )?static let \w+ = TimeSpan\.\w+\()(\d[\d_]*)\)", line)
    if span:
        found.append((f"{span[2]} is one more", f"{span[1]}Mutant.adds(@N, {span[2]}))"))
    return found


def choose(rooms, count, chance):
    """For each room `count` changes in different files, as far as it has so many."""
    chosen = []
    for room in rooms:
        places = {}
        for folder, _, names in os.walk(f"Sources/{room}"):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if name.endswith(".swift") and (room not in ONLY or ONLY[room].search(path)):
                    lines = open(path).read().split("\n")
                    offers = [(number, what, new) for number, line in enumerate(lines) for what, new in changes(line)]
                    if offers:
                        places[path] = offers
        paths = sorted(places)
        chance.shuffle(paths)
        picked = set()
        while len(picked) < count and any(places.values()):
            for path in paths:
                if len(picked) == count or not places[path]:
                    continue
                offer = places[path].pop(chance.randrange(len(places[path])))
                if (path, offer[0]) not in picked:
                    picked.add((path, offer[0]))
                    chosen.append({"room": room, "path": path, "line": offer[0], "what": offer[1], "new": offer[2]})
    for number, change in enumerate(chosen):
        change["number"] = number
    return chosen


def copy_tree():
    """The tracked files as they are now. What did not change keeps its time, so that little is built again."""
    os.makedirs(TREE, exist_ok=True)
    names = subprocess.run(["git", "ls-files", "-z"], capture_output=True, check=True).stdout.decode().split("\0")
    names = {name for name in names if name and os.path.isfile(name)}
    for name in names:
        target = os.path.join(TREE, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        content = open(name, "rb").read()
        if not os.path.exists(target) or open(target, "rb").read() != content:
            shutil.copyfile(name, target)
    for part in ("Sources", "Tests"):
        for folder, _, files in os.walk(os.path.join(TREE, part)):
            for name in files:
                path = os.path.join(folder, name)
                if os.path.relpath(path, TREE) not in names and name != "Mutant.swift":
                    os.remove(path)


def write(path, text):
    if not os.path.exists(path) or open(path).read() != text:
        open(path, "w").write(text)


def build(chosen):
    """Builds the tests with all changes in the tree; leaves out those that the compiler refuses."""
    while True:
        for path in {change["path"] for change in chosen}:
            lines = open(path).read().split("\n")
            for change in chosen:
                if change["path"] == path and not change.get("refused"):
                    lines[change["line"]] = change["new"].replace("@N", str(change["number"]))
            write(os.path.join(TREE, path), "\n".join(lines))
        for room in {change["room"] for change in chosen}:
            write(f"{TREE}/Sources/{room}/Mutant.swift", SWITCH)
        result = subprocess.run(
            ["swift", "build", "--build-tests", "--package-path", TREE], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if result.returncode == 0:
            return
        refused = {(m[1], int(m[2]) - 1) for m in re.finditer(r"/(Sources/[^:\s]+):(\d+):\d+: error:", result.stdout + result.stderr)}
        wrong = [c for c in chosen if (c["path"], c["line"]) in refused and not c.get("refused")]
        if not wrong:
            sys.exit((result.stdout + result.stderr)[-4000:])
        for change in wrong:
            change["refused"] = True


def run(filter, number, limit):
    """Whether the tests pass with the change of this number in effect."""
    tests = subprocess.run(
        ["swift", "build", "--show-bin-path", "--package-path", TREE], capture_output=True, text=True, check=True).stdout.strip()
    environment = dict(os.environ, TRANSFER_RUN_MUTANT=str(number), SWIFT_BACKTRACE="enable=no")
    try:
        return subprocess.run(
            [f"{tests}/transfer-runPackageTests.xctest", "--testing-library", "swift-testing"] + filter,
            env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=limit, cwd=TREE).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].strip())
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--list", action="store_true")
    parser.add_argument("rooms", nargs="*")
    wanted = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    rooms = wanted.rooms or ROOMS
    chosen = choose(rooms, wanted.count, random.Random(wanted.seed))
    print(f"mutate: seed {wanted.seed}, {len(chosen)} changes", flush=True)
    if wanted.list:
        for change in chosen:
            print(f"{change['path']}:{change['line'] + 1}: {change['what']}")
        return
    copy_tree()
    build(chosen)
    own = {room: ["--filter", f"^{room}Tests\\."] for room in rooms}
    everywhere = ["--skip", "^BinaryTests\\."]
    limits = {}
    for room in rooms + [None]:
        begun = time.monotonic()
        if not run(own[room] if room else everywhere, -1, 900):
            sys.exit(f"mutate: the tests of {room or 'all rooms'} fail without any change")
        limits[room] = 60 + 4 * (time.monotonic() - begun)
    survivors = 0
    for change in chosen:
        if change.get("refused"):
            continue
        room = change["room"]
        caught = "its room" if not run(own[room], change["number"], limits[room]) else None
        caught = caught or ("another room" if not run(everywhere, change["number"], limits[None]) else None)
        survivors += caught is None
        place = f"{change['path']}:{change['line'] + 1}: {change['what']}"
        print(f"{'caught by ' + caught if caught else 'NOT CAUGHT'}: {place}", flush=True)
    tried = sum(not change.get("refused") for change in chosen)
    print(f"mutate: {tried} changes, {survivors} that no test noticed")
    sys.exit(1 if survivors else 0)


main()
