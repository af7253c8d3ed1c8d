#!/usr/bin/env python3
"""Writes a report as a run of many small downloads makes one, for trying what reads reports.

usage: tools/many_tasks.py COUNT FILE
"""
import json
import random
import sys

HOSTS = [(f"https://deb{number}.example.org", 6) for number in range(8)] + [("http://cdn.example.net", 6)]


def date(milliseconds):
    seconds, rest = divmod(int(milliseconds), 1000)
    return f"2026-11-27T{2 + seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}Z"


class Slot:
    def __init__(self, port):
        self.free, self.port, self.uses = 0.0, port, 0


def transaction(url, slot, at, status, size, chance):
    """One request on a connection, and when it ended."""
    is_new, is_tls = slot.uses == 0, url.startswith("https")
    slot.uses += 1
    marks = dict.fromkeys(["domainLookupStart", "domainLookupEnd", "connectStart", "secureConnectionStart",
                           "secureConnectionEnd", "connectEnd"])
    time = at
    if is_new:
        marks["domainLookupStart"] = time
        time += chance.uniform(1, 20)
        marks["domainLookupEnd"] = marks["connectStart"] = time
        time += chance.uniform(5, 40)
        if is_tls:
            marks["secureConnectionStart"] = time
            time += chance.uniform(10, 50)
            marks["secureConnectionEnd"] = time
        marks["connectEnd"] = time
    marks["requestStart"] = marks["requestEnd"] = time
    time += chance.uniform(10, 80)
    marks["responseStart"] = time
    time += size / chance.uniform(2e3, 2e4)
    marks["responseEnd"] = time
    dates = {name + "Date": None if mark is None else date(mark) for name, mark in marks.items()}
    return {
        "request": {"method": "GET", "url": url}, "response": {"status": status}, "fetchStartDate": date(at), **dates,
        "networkProtocolName": "http/1.1", "isProxyConnection": False, "isReusedConnection": not is_new,
        "resourceFetchType": "networkLoad", "countOfRequestHeaderBytesSent": 123, "countOfRequestBodyBytesSent": 0,
        "countOfRequestBodyBytesBeforeEncoding": 0, "countOfResponseHeaderBytesReceived": 185,
        "countOfResponseBodyBytesReceived": size, "countOfResponseBodyBytesAfterDecoding": size,
        "localAddress": "10.0.0.7", "localPort": slot.port, "remoteAddress": "192.0.2.1", "remotePort": 443,
        "negotiatedTLSProtocolVersion": 772 if is_tls else None,
        "negotiatedTLSCipherSuite": 4865 if is_tls else None,
        "negotiatedTLSCertificateFingerprint": "sha256:" + "ab" * 32 if is_tls else None, "isCellular": False,
        "isExpensive": False, "isConstrained": False, "isMultipath": False, "domainResolutionProtocol": "unknown",
    }, time


def attempt(number, url, slot, at, status, size, chance, pause=None):
    request, end = transaction(url, slot, at, status, size, chance)
    words = {404: "Not Found", 503: "Service Unavailable"}
    error = status in words and {
        "domain": "transfer-run", "name": "unexpectedResponse", "code": None,
        "message": f"GET {url}: {status} {words[status]}", "curl": None, "errno": None, "reason": None}
    slot.free = end + 0.4
    return {
        "number": number, "url": url, "outcome": "failed" if error else "succeeded", "resumedFrom": 0,
        "startedOver": None, "startedAt": date(at), "duration": round((end - at) / 1000, 6), "error": error or None,
        "backoff": pause, "transactions": [request]}, end


def task(index, slots, chance):
    host = chance.choices(range(9), weights=[8, 8, 8, 4, 4, 4, 2, 2, 1])[0]
    folder = f"pool/main/l/lib{chr(97 + index % 26)}"
    name = f"libfoo{index}_{chance.randint(1, 9)}.{chance.randint(0, 20)}-{chance.randint(1, 4)}_amd64.deb"
    url, size, kind = f"{HOSTS[host][0]}/debian/{folder}/{name}", int(chance.expovariate(1 / 6e4)) + 200, chance.random()
    slot = min(slots[host], key=lambda slot: slot.free)
    at, fails = slot.free, kind < 0.004
    waits = [{"reason": "hostLimit", "duration": round(at / 1000, 6)}] if at else []
    if kind < 0.03:
        first, end = attempt(1, url, slot, at, 404 if fails else 503, 120, chance, None if fails else 1.2)
        attempts = [first]
        if not fails:
            slot = min(slots[host], key=lambda slot: abs(slot.free - end - 1200))
            second, end = attempt(2, url, slot, max(end + 1200, slot.free), 200, size, chance)
            attempts.append(second)
            waits.append({"reason": "backoff", "duration": 1.2})
    else:
        only, end = attempt(1, url, slot, at, 200, size, chance)
        attempts = [only]
    error, minute, second = attempts[-1]["error"], int(end) // 60000 % 60, int(end) // 1000 % 60
    headers = [
        ["Server", "nginx/1.22.1"], ["Date", f"Fri, 27 Nov 2026 02:{minute:02}:{second:02} GMT"],
        ["Content-Type", "application/vnd.debian.binary-package"], ["Content-Length", str(size)],
        ["Last-Modified", f"Thu, 27 Nov 2025 02:{index // 60 % 60:02}:{index % 60:02} GMT"],
        ["Connection", "keep-alive"], ["ETag", f'"{chance.getrandbits(32):x}-{size:x}"'], ["Accept-Ranges", "bytes"]]
    return {
        "id": f"deb-{index + 1}", "session": "mirror", "type": "download", "group": None, "description": None,
        "labels": {}, "becameDownload": False, "outcome": "failed" if fails else "succeeded", "tolerated": False,
        "changed": not fails, "source": None if fails else "network", "cache": None,
        "request": {"original": {"method": "GET", "url": url}, "current": {"method": "GET", "url": url}},
        "response": {
            "status": 404 if fails else 200, "url": url, "mimeType": "application/vnd.debian.binary-package",
            "charset": None, "expectedLength": size, "suggestedFilename": name, "contentEncoding": None,
            "headers": headers},
        "file": None if fails else {"path": f"mirror/debian/{folder}/{name}", "bytes": size, "checksum": None},
        "length": None if fails else "verified", "body": None, "parts": [], "captures": {}, "createdAt": date(0),
        "startedAt": date(at), "finishedAt": date(end), "duration": round(end / 1000, 6), "waits": waits,
        "attempts": attempts, "redirects": [], "challenges": [], "error": error,
        "explanation": error and error["message"] + ". Check the URL."}, end, size


def write(count, path):
    chance = random.Random(7)
    slots = [[Slot(40000 + 100 * host + number) for number in range(most)] for host, (_, most) in enumerate(HOSTS)]
    lines, last, received, failed, attempts = [], 0, 0, 0, 0
    for index in range(count):
        made, end, size = task(index, slots, chance)
        lines.append(json.dumps(made, separators=(",", ":")))
        last, received, attempts = max(last, end), received + size, attempts + len(made["attempts"])
        failed += made["outcome"] == "failed"
    origins = [url + (":443" if url.startswith("https") else ":80") for url, _ in HOSTS]
    head = {
        "format": "transfer-run/report", "version": 1,
        "runner": {"version": "0.1.0", "libcurl": "7.88.1", "pid": 4242, "host": "ci-7"},
        "job": {"name": "debian-mirror", "file": "mirror.yaml", "sha256": "0" * 64, "variables": {}},
        "startedAt": date(0), "finishedAt": date(last), "duration": round(last / 1000, 6),
        "outcome": "failed" if failed else "succeeded", "exitStatus": 1 if failed else 0,
        "totals": {
            "tasks": count, "succeeded": count - failed, "failed": failed, "cancelled": 0, "skipped": 0, "deferred": 0,
            "tolerated": 0, "attempts": attempts, "retries": attempts - count, "redirects": 0, "cacheHits": 0,
            "unchanged": 0, "bytesReceived": received, "bytesSent": 0, "bytesSaved": 0},
        "sessions": [{
            "name": "mirror", "configuration": "default", "identifier": None, "reassociated": False,
            "insecure": False, "connectionsOpened": 54, "connectionsReused": max(0, attempts - 54),
            "hosts": [{"host": host, "peakConnections": 6, "tasks": 0} for host in origins]}],
        "groups": [], "hooks": []}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head, separators=(",", ":"))[:-1] + ',"tasks":[\n' + ",\n".join(lines) + "\n]}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    write(int(sys.argv[1]), sys.argv[2])
