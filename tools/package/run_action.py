#!/usr/bin/python3
"""Runs the steps of packaging/github/action.yml as GitHub would, but for those that are other actions.

usage: tools/package/run_action.py FOLDER NAME=VALUE…    (inputs; FOLDER gets what the runner keeps for itself)

Prints the outputs, one a line, and ends with the status of the step that failed.
"""

import os
import pathlib
import re
import subprocess
import sys

import yaml


def main():
    folder = pathlib.Path(sys.argv[1])
    action = yaml.safe_load((pathlib.Path(__file__).parents[2] / "packaging/github/action.yml").read_text())
    inputs = {name: entry.get("default", "") for name, entry in action["inputs"].items()}
    given = dict(word.split("=", 1) for word in sys.argv[2:])
    if unknown := set(given) - set(inputs):
        sys.exit(f"run_action: the action has no input {', '.join(unknown)}")
    inputs.update(given)
    outputs = {}

    def filled(text):
        def value(match):
            kind, *names = match.group(1).split(".")
            return inputs[names[0]] if kind == "inputs" else outputs.get((names[0], names[2]), "")
        return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", value, text)

    status = 0
    for step in action["runs"]["steps"]:
        if "run" not in step or status:
            continue
        file = folder / f"output-{step.get('id', 'none')}"
        file.write_text("")
        environment = {
            **os.environ, "RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(file), "GITHUB_PATH": str(folder / "path"),
            **{name: filled(text) for name, text in step.get("env", {}).items()},
        }
        # As `shell: bash` says: https://docs.github.com/actions, "jobs.<job_id>.steps[*].shell".
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        status = subprocess.run(words, env=environment, cwd=filled(step.get("working-directory", "."))).returncode
        for line in file.read_text().splitlines():
            name, text = line.split("=", 1)
            outputs[(step["id"], name)] = text
    for name, entry in action["outputs"].items():
        print(f"{name}={filled(entry['value'])}")
    sys.exit(status)


if __name__ == "__main__":
    main()
