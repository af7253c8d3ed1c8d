#!/usr/bin/env python3
"""Prints the main things of a JSON report: outcome, totals, and a few members of each task.

usage: tools/show-report.py REPORT
"""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)


def task(entry):
    shown = {name: entry[name] for name in ("id", "outcome", "source", "file", "error", "duration")}
    shown["status"] = entry["response"] and entry["response"]["status"]
    if entry["type"] != "download":
        shown["body"] = entry["body"]
    return {name: value for name, value in shown.items() if value is not None}


head = {name: report[name] for name in ("outcome", "exitStatus", "duration")}
totals = {name: value for name, value in report["totals"].items() if value}
print("  " + json.dumps(head | {"totals": totals}, ensure_ascii=False))
for entry in report["tasks"]:
    print("  " + json.dumps(task(entry), ensure_ascii=False))
