#!/usr/bin/env python3
"""Validates reports (*.json) and lines of events (*.ndjson) against the schemas, with Python's jsonschema.

usage: tools/validate-reports.py FOLDER

The tests leave such files in $TRANSFER_RUN_KEEP_REPORTS when it names a folder.
"""
import json
import pathlib
import sys

import jsonschema

root = pathlib.Path(__file__).resolve().parent.parent / "schemas"


def validator(name):
    schema = json.loads((root / name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def main(folder):
    report, event = validator("report.schema.json"), validator("events.schema.json")
    reports = lines = problems = 0
    for path in sorted(pathlib.Path(folder).iterdir()):
        if path.suffix == ".json":
            documents, schema = [json.loads(path.read_bytes())], report
            reports += 1
        elif path.suffix == ".ndjson":
            documents, schema = [json.loads(line) for line in path.read_bytes().splitlines()], event
            lines += len(documents)
        else:
            continue
        for document in documents:
            for error in schema.iter_errors(document):
                problems += 1
                print(f"{path.name}: {error.json_path}: {error.message[:300]}")
    print(f"{reports} reports, {lines} lines of events, {problems} problems")
    return 1 if problems or not reports or not lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
