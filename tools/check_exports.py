#!/usr/bin/env python3
"""Checks a file that transfer-run wrote against what its format demands, as a strict reader of that format would.

usage: tools/check_exports.py junit|har|trace|otlp|prometheus FILE
"""
import gzip
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from datetime import datetime


def fail(message):
    sys.exit(f"check_exports: {message}")


def need(condition, message):
    if not condition:
        fail(message)


def objects_without_duplicates(pairs):
    need(len({key for key, _ in pairs}) == len(pairs), f"a key twice in {[key for key, _ in pairs]}")
    return dict(pairs)


def load_json(path):
    def refuse(word):
        fail(f"{word} is no JSON")

    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    with opened as file:
        return json.loads(file.read().decode("utf-8"), object_pairs_hook=objects_without_duplicates,
                          parse_constant=refuse)


# The elements and attributes of jenkins-junit.xsd, with those that must be there.
JUNIT = {
    "testsuites": ({"name", "time", "tests", "failures", "disabled", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package",
         "file", "log", "url", "version"},
        {"name", "tests"}, {"properties", "testcase", "system-out", "system-err"}),
    "testcase": (
        {"name", "assertions", "time", "classname", "status", "class", "file", "line", "score", "lastrun"},
        {"name"}, {"skipped", "error", "failure", "system-out", "system-err", "properties"}),
    "skipped": ({"type", "message"}, set(), set()),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
}


def check_junit(path):
    root = ElementTree.parse(path).getroot()
    need(root.tag == "testsuites", f"<{root.tag}> at the top")

    def check(element):
        need(element.tag in JUNIT, f"<{element.tag}> is no element of JUnit")
        known, needed, children = JUNIT[element.tag]
        names = set(element.attrib)
        need(names <= known, f"<{element.tag}> has {names - known}")
        need(needed <= names, f"<{element.tag}> lacks {needed - names}")
        for name in ("tests", "failures", "errors", "skipped", "line"):
            need(re.fullmatch(r"\d+", element.get(name, "0")), f"{name}={element.get(name)}")
        need(re.fullmatch(r"\d+(\.\d+)?", element.get("time", "0")), f"time={element.get('time')}")
        if element.get("timestamp"):
            datetime.strptime(element.get("timestamp"), "%Y-%m-%dT%H:%M:%S")
        for child in element:
            need(child.tag in children, f"<{child.tag}> inside <{element.tag}>")
            check(child)

    check(root)
    for suite in root:
        cases = suite.findall("testcase")
        need(len(cases) == int(suite.get("tests")), f"{suite.get('name')}: {len(cases)} cases")
        for kind, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            count = sum(1 for case in cases if case.find(kind) is not None)
            need(count == int(suite.get(name)), f"{suite.get('name')}: {count} {name}")
        need(all(len(list(case)) <= 1 for case in cases), "a case with two verdicts")
    for name in ("tests", "failures", "errors"):
        total = sum(int(suite.get(name)) for suite in root)
        need(total == int(root.get(name)), f"{name}: {total} in all suites")


def members(value, what, needed, optional=()):
    need(isinstance(value, dict), f"{what} is no object")
    names = {name for name in value if not name.startswith("_")}
    need(set(needed) <= names, f"{what} lacks {set(needed) - names}")
    need(names <= set(needed) | set(optional), f"{what} has {names - set(needed) - set(optional)}")
    for name, kind in needed.items():
        need(isinstance(value[name], kind) and not isinstance(value[name], bool), f"{what}.{name} is {value[name]!r}")


def check_har(path):
    number = (int, float)
    document = load_json(path)
    members(document, "HAR", {"log": dict})
    log = document["log"]
    members(log, "log", {"version": str, "creator": dict, "entries": list}, ["pages", "browser", "comment"])
    need(log["version"] == "1.2", f"version {log['version']}")
    members(log["creator"], "creator", {"name": str, "version": str})
    pages = set()
    for page in log.get("pages", []):
        members(page, "page", {"startedDateTime": str, "id": str, "title": str, "pageTimings": dict})
        pages.add(page["id"])
    for entry in log["entries"]:
        members(entry, "entry", {
            "startedDateTime": str, "time": number, "request": dict, "response": dict, "cache": dict,
            "timings": dict}, ["pageref", "serverIPAddress", "connection", "comment"])
        datetime.fromisoformat(entry["startedDateTime"].replace("Z", "+00:00"))
        need(entry.get("pageref") in pages, f"pageref {entry.get('pageref')}")
        request, response, timings = entry["request"], entry["response"], entry["timings"]
        members(request, "request", {
            "method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
            "headersSize": int, "bodySize": int}, ["postData", "comment"])
        members(response, "response", {
            "status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": dict,
            "redirectURL": str, "headersSize": int, "bodySize": int}, ["comment"])
        members(response["content"], "content", {"size": int, "mimeType": str},
                ["compression", "text", "encoding", "comment"])
        for pair in request["queryString"] + request["headers"] + response["headers"] + response["cookies"]:
            members(pair, "pair", {"name": str, "value": str})
        members(timings, "timings", {"send": number, "wait": number, "receive": number},
                ["blocked", "dns", "connect", "ssl", "comment"])
        for name in ("send", "wait", "receive"):
            need(timings[name] >= 0, f"{name} is {timings[name]}")
        for name in ("blocked", "dns", "connect", "ssl"):
            need(timings.get(name, -1) >= 0 or timings.get(name, -1) == -1, f"{name} is {timings[name]}")
        total = sum(value for name, value in timings.items() if name != "ssl" and value > 0)
        need(abs(total - entry["time"]) < 0.01, f"time {entry['time']}, its parts {total}")


def check_trace(path):
    document = load_json(path)
    need(set(document) == {"displayTimeUnit", "traceEvents"}, f"{set(document)}")
    slices, open_waits, named = {}, {}, set()
    for event in document["traceEvents"]:
        kind = event["ph"]
        need(isinstance(event["pid"], int) and event["name"], f"{event}")
        if kind == "M":
            named.add((event["name"], event["pid"], event.get("tid")))
        elif kind == "X":
            need(event["dur"] >= 0, f"{event}")
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
        elif kind == "b":
            open_waits[(event["cat"], event["id"])] = event
        elif kind == "e":
            begun = open_waits.pop((event["cat"], event["id"]))
            need(begun["ts"] <= event["ts"] and begun["name"] == event["name"], f"{event}")
        elif kind == "C":
            need(event["args"]["value"] >= 0, f"{event}")
        else:
            fail(f"phase {kind}")
    need(not open_waits, f"waits without an end: {open_waits}")
    for (process, thread), events in slices.items():
        need(("process_name", process, None) in named, f"process {process} has no name")
        need(thread == 0 or ("thread_name", process, thread) in named, f"thread {process}/{thread} has no name")
        stack = []
        for event in sorted(events, key=lambda event: (event["ts"], -event["dur"])):
            end = event["ts"] + event["dur"]
            while stack and stack[-1] <= event["ts"] + 0.001:
                stack.pop()
            need(not stack or end <= stack[-1] + 0.001, f"slices overlap in {process}/{thread}: {event}")
            stack.append(end)


# The fields of opentelemetry/proto/trace/v1/trace.proto and common.proto, as protobuf's JSON spells them.
OTLP = {
    "TracesData": {"resourceSpans": ["ResourceSpans"]},
    "ResourceSpans": {"resource": "Resource", "scopeSpans": ["ScopeSpans"], "schemaUrl": str},
    "Resource": {"attributes": ["KeyValue"], "droppedAttributesCount": int},
    "ScopeSpans": {"scope": "InstrumentationScope", "spans": ["Span"], "schemaUrl": str},
    "InstrumentationScope": {"name": str, "version": str, "attributes": ["KeyValue"], "droppedAttributesCount": int},
    "Span": {
        "traceId": "hex32", "spanId": "hex16", "traceState": str, "parentSpanId": "hex16", "flags": int, "name": str,
        "kind": int, "startTimeUnixNano": "fixed64", "endTimeUnixNano": "fixed64", "attributes": ["KeyValue"],
        "droppedAttributesCount": int, "events": ["Event"], "droppedEventsCount": int, "links": ["Link"],
        "droppedLinksCount": int, "status": "Status"},
    "Status": {"message": str, "code": int},
    "KeyValue": {"key": str, "value": "AnyValue"},
    "AnyValue": {"stringValue": str, "boolValue": bool, "intValue": "int64", "doubleValue": (int, float)},
}


def check_otlp(path):
    spans = []

    def check(value, kind, place):
        if isinstance(kind, list):
            need(isinstance(value, list), f"{place} is no list")
            for part in value:
                check(part, kind[0], place)
        elif kind in ("hex32", "hex16"):
            need(re.fullmatch(f"[0-9a-f]{{{kind[3:]}}}", value) and int(value, 16), f"{place}: {value}")
        elif kind in ("fixed64", "int64"):
            need(isinstance(value, str) and re.fullmatch(r"-?\d+", value), f"{place}: {value!r}")
            need(-(1 << 63) <= int(value) < 1 << 64, f"{place}: {value}")
        elif isinstance(kind, str):
            need(isinstance(value, dict) and set(value) <= set(OTLP[kind]), f"{place} has {value}")
            need(kind != "AnyValue" or len(value) == 1, f"{place}: {value}")
            for name, part in value.items():
                check(part, OTLP[kind][name], f"{place}.{name}")
            if kind == "Span":
                spans.append(value)
        else:
            need(isinstance(value, kind), f"{place}: {value!r}")

    check(load_json(path), "TracesData", "TracesData")
    ids = {span["spanId"] for span in spans}
    need(len(ids) == len(spans), "a span's id twice")
    need(len({span["traceId"] for span in spans}) == 1, "spans of two traces")
    for place, span in enumerate(spans):
        need(place == 0 or span["parentSpanId"] in ids, f"{span['name']} has no parent here")
        need(int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), f"{span['name']} ends before it begins")
        need(1 <= span["kind"] <= 5, f"kind {span['kind']}")
        keys = [attribute["key"] for attribute in span["attributes"]]
        need(len(set(keys)) == len(keys), f"an attribute twice: {keys}")


LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(" + LABEL + r"(?:," + LABEL + r")*)\})? (-?\d+(?:\.\d+)?)")


def check_prometheus(path):
    text = open(path, encoding="utf-8", newline="").read()
    need(text.endswith("\n") and "\r" not in text, "lines")
    types, helps, seen, family = {}, set(), set(), None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            need(name not in helps, f"help of {name} twice")
            helps.add(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            need(name in helps and name not in types and kind == "gauge", line)
            types[name] = kind
            family = name
        else:
            match = SAMPLE.fullmatch(line)
            need(match, f"no sample: {line}")
            need(match[1] == family, f"{match[1]} among the samples of {family}")
            series = (match[1], match[2])
            need(series not in seen, f"twice: {line}")
            seen.add(series)
    need(seen, "no sample")


CHECKS = {"junit": check_junit, "har": check_har, "trace": check_trace, "otlp": check_otlp,
          "prometheus": check_prometheus}

if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    CHECKS[sys.argv[1]](sys.argv[2])
