#!/usr/bin/env python3
"""Answers for archive://NAME.zip/MEMBER: GET takes a member out of the archive, PUT puts one in.

The request comes on standard input: one line of JSON, then the body. The answer goes out as a CGI program's.
"""
import json
import shutil
import sys
import urllib.parse
import zipfile


def answer(status, *headers):
    lines = [f"Status: {status}", *headers, "", ""]
    sys.stdout.buffer.write("\r\n".join(lines).encode())


request = json.loads(sys.stdin.buffer.readline())
url = urllib.parse.urlsplit(request["url"])
member = urllib.parse.unquote(url.path.lstrip("/"))
if not url.hostname.endswith(".zip"):
    sys.exit(64)  # Not ours: the next command of the session may know.

if request["method"] == "PUT":
    with zipfile.ZipFile(url.hostname, "a", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(member, "w") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
    answer(201)
elif request["method"] in ("GET", "HEAD"):
    try:
        with zipfile.ZipFile(url.hostname) as archive:
            facts = archive.getinfo(member)
            answer(200, f"Content-Length: {facts.file_size}", f'ETag: "{facts.CRC:08x}"')
            if request["method"] == "GET":
                with archive.open(facts) as source:
                    shutil.copyfileobj(source, sys.stdout.buffer)
    except (FileNotFoundError, KeyError):
        answer("404 Not Found")
else:
    answer("405 Method Not Allowed")
