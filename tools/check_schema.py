#!/usr/bin/env python3
"""Checks schemas/jobs.schema.json with a validator that is not ours.

    python3 -m venv VENV && VENV/bin/pip install jsonschema pyyaml
    VENV/bin/python tools/check_schema.py

Every examples/*/*.transfer.yaml must be accepted. Every Tests/Goldens/*.yaml whose first line is `# schema: rejects` must be
rejected, and every one that says `# schema: accepts` accepted: what is wrong with it no schema can see. Which faults
those are BEYOND says; a golden with another fault must be rejected, so that the schema does not fall behind. The same files
and the examples, changed at random, must never be rejected where `check` accepts them:

    VENV/bin/python tools/check_schema.py .build/debug/transfer-run [SEED]
"""

import copy
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parent.parent


# Codes of what a schema cannot see: names and what they stand for, other tasks, sessions and files, what is inside of
# texts, numbers with units, orders of things.
BEYOND = {
    "bad-file", "bad-interpolation", "capture-has-no-default", "capture-not-allowed", "control-character", "duplicate-destination",
    "duplicate-id", "duplicate-identifier", "duplicate-key", "empty-window", "extends-cycle", "group-folder", "groups-overlap", "is-a-list", "not-a-list",
    "invalid-regex", "missing-need", "missing-page", "missing-value", "name-required", "needs-cycle", "needs-when", "not-built-yet", "path-escape", "path-from-network",
    "secret-elsewhere", "secret-not-allowed", "too-large", "too-many-tasks", "unknown-group", "unknown-name", "unknown-session",
    "unknown-task", "unreadable-file", "url-component", "variable-cycle", "yaml-syntax",
}  # fmt: skip
# Files with another fault that a schema cannot see either, and why.
EXCUSED = {
    "address-family-of-another": "what kind of address a host is",
    "background-copy-without-identifier": "which session is copied",
    "bare-mode": "0o644 and 420 are one number",
    "capture-not-allowed": "names of other tasks",
    "captured-list-misused": "what other tasks capture",
    "checksum-from-data-task": "of which type another task is",
    "checksum-signature-key": "what is inside of a key",
    "checksum-signature-of-late-url": "when a URL is known",
    "duration-zero": "a length of time in words",
    "existing-upload": "what type and method make of a value",
    "for-each-unknown-field": "what a name stands for",
    "mime-type-wrong": "what is inside of a type",
    "next-and-other-keys": "what `next` and other keys make of each other, the defaults counted",
    "time-zone-wrong": "which time zones there are",
    "to-standard-output-in-defaults": "what tasks make of the defaults",
    "too-large": "numbers with units",
    "unix-socket-wrong": "how long an absolute path is",
    "url-bad-host": "what is inside of a URL",
    "url-bad-port": "what is inside of a URL",
    "user-in-file-url": "what is inside of a URL",
    "when-wrong": "which tasks a text names, and so needs",
}


def faults(path):
    """The codes of the errors that `check` finds, as the text beside the golden has them."""
    text = path.with_suffix(".txt").read_text(encoding="utf-8")
    return set(re.findall(r": error: .*\[([a-z0-9-]+)\]$", text, re.M))


class CoreLoader(yaml.SafeLoader):
    """YAML 1.2's core schema: `yes` is text, `012` is twelve, a date is text."""


CoreLoader.yaml_implicit_resolvers = {}
for tag, pattern, first in [
    ("null", r"^(~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    ("float", r"^([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)$", list("-+.0123456789")),
    ("merge", r"^<<$", ["<"]),
]:
    CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)


def integer(loader, node):
    text = node.value
    return int(text[2:], 8) if text.startswith("0o") else int(text, 16) if text.startswith("0x") else int(text)


CoreLoader.add_constructor("tag:yaml.org,2002:int", integer)
CoreLoader.add_constructor("tag:yaml.org,2002:float", lambda loader, node: float(node.value))


def problems(validator, path):
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), CoreLoader)
    except yaml.YAMLError:
        return None
    return [error.message for error in validator.iter_errors(document)]


def maps_and_lists(node):
    """Every map and list below a node, the node too."""
    if isinstance(node, (dict, list)):
        yield node
        for value in list(node.values() if isinstance(node, dict) else node):
            yield from maps_and_lists(value)


def changed(document, others, chance):
    """The document with one to three small changes: a key away, null, moved here from another file, another value."""
    document = copy.deepcopy(document)
    for _ in range(chance.randint(1, 3)):
        places = [place for place in maps_and_lists(document) if place]
        if not places:
            break
        place = chance.choice(places)
        key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        kind = chance.randrange(5)
        if kind == 0:
            del place[key]
        elif kind == 1:
            place[key] = None
        elif kind == 2:
            place[key] = chance.choice([0, 1, 2.5, True, "", "x", "5s", "1.2", "none", "https://example.org/z", [], {}, ["x"]])
        else:
            donors = [other for other in maps_and_lists(chance.choice(others)) if other and isinstance(other, dict)]
            donor = chance.choice(donors) if donors else {}
            if isinstance(place, dict) and donor:
                name = chance.choice(list(donor))
                place[name] = copy.deepcopy(donor[name])
    return document


def compare(binary, validator, seed):
    """Files that the schema rejects and `check` accepts. JSON is YAML, so that they are written as JSON."""
    chance = random.Random(seed)
    documents, right = [], []
    for path in sorted([*(ROOT / "examples").glob("*/*.transfer.yaml"), *(ROOT / "Tests/Goldens").glob("*.yaml")]):
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), CoreLoader)
        except yaml.YAMLError:
            continue
        if isinstance(document, dict):
            documents.append(document)
            if path.parent.parent.name == "examples" or not faults(path):
                right.append(document)
    failures, rejected = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2000):
            document = changed(chance.choice(right), documents, chance)
            problems = [error.message for error in validator.iter_errors(document)]
            if not problems:
                continue
            rejected += 1
            path = Path(folder) / "job.yaml"
            path.write_text(json.dumps(document), encoding="utf-8")
            check = subprocess.run([binary, "check", "--format", "json", path], capture_output=True, check=False)
            if check.returncode == 0:
                failures.append(f"seed {seed}, file {number}: check accepts {json.dumps(document)}: {problems[:3]}")
    print(f"{rejected} changed files were rejected, seed {seed}")
    return failures


def main():
    schema = json.loads((ROOT / "schemas/jobs.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    failures = []
    examples = sorted((ROOT / "examples").glob("*/*.transfer.yaml"))
    for path in examples:
        found = problems(validator, path)
        if found is None or found:
            failures.append(f"{path.relative_to(ROOT)}: should be accepted: {found}")
    wrong = 0
    goldens = sorted((ROOT / "Tests/Goldens").glob("*.yaml"))
    for path in goldens:
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        found = problems(validator, path)
        if found is None:
            continue  # no YAML: nothing for a schema to see
        if first == "# schema: rejects" and not found:
            failures.append(f"{path.relative_to(ROOT)}: should be rejected")
        elif first == "# schema: accepts" and found:
            failures.append(f"{path.relative_to(ROOT)}: should be accepted: {found[:3]}")
        elif not first.startswith("# schema: "):
            failures.append(f"{path.relative_to(ROOT)}: its first line does not say what a schema can see")
        wrong += 1 if found else 0
        beyond = faults(path) - BEYOND
        if not found and beyond and path.stem not in EXCUSED:
            failures.append(f"{path.relative_to(ROOT)}: a schema can see {', '.join(sorted(beyond))}")
        if found and not faults(path):
            failures.append(f"{path.relative_to(ROOT)}: check accepts it, the schema does not: {found[:3]}")
    if len(sys.argv) > 1:
        failures += compare(sys.argv[1], validator, sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(2**32)))
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(examples)} examples, {len(goldens)} goldens of which {wrong} are rejected, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
