#!/usr/bin/env python3
"""Checks schemas/jobs.schema.json with a validator that is not ours.

    python3 -m venv VENV && VENV/bin/pip install jsonschema pyyaml
    VENV/bin/python tools/check_schema.py

Every examples/*.yaml must be accepted. Every Tests/Goldens/*.yaml whose first line is `# schema: rejects` must be
rejected, and every one that says `# schema: accepts` accepted (what is wrong with it no schema can see).
"""

import json
import re
import sys
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator

ROOT = Path(__file__).resolve().parent.parent


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


def main():
    schema = json.loads((ROOT / "schemas/jobs.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    failures = []
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    for path in examples:
        found = problems(validator, path)
        if found is None or found:
            failures.append(f"{path.relative_to(ROOT)}: should be accepted: {found}")
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
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{len(examples)} examples, {len(goldens)} goldens, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
