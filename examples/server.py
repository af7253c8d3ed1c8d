#!/usr/bin/env python3
"""A small web server for trying the examples: serves a folder on 127.0.0.1 and keeps uploads in memory.

usage: examples/server.py FOLDER [PORT]    (prints its port, one that is free without PORT, and serves until it is ended)
       examples/server.py FOLDER SOCKET    (serves at a Unix socket, which it makes and removes)

/busy/NAME is the folder's NAME, but the first request for it is answered 503; /private/NAME wants robot:open-sesame.
/large.bin has 6 MiB, sent in ranges and at 3 MiB/s a connection; a PUT to /resumable/NAME is cut off in the middle.
"""
import atexit
import functools
import hashlib
import http.server
import json
import os
import re
import signal
import socketserver
import sys
import time


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = set()
    robot = "Basic cm9ib3Q6b3Blbi1zZXNhbWU="  # robot:open-sesame

    kept = {}  # path → the body that was uploaded there

    def take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = {"Content-Type": "application/json"}
        if self.command == "PUT":
            self.kept[self.path] = body
            kind["ETag"] = self.etag(body)
        self.answer(201, kind, b'{"received": %d}\n' % len(body))

    @staticmethod
    def etag(body):
        return f'"{hashlib.md5(body).hexdigest()}"'

    def sign_in(self):
        if self.headers.get("Authorization") != self.robot:
            self.answer(401, {"WWW-Authenticate": 'Basic realm="shop"'}, b"who?\n")
        else:
            self.answer(204, {"Set-Cookie": "session=opened; Path=/account; Max-Age=3600; HttpOnly"}, b"")

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204 and "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def large(self):
        """6 MiB, in ranges, at 3 MiB/s on each connection: a file that comes sooner over several of them."""
        size, start, status = 6 << 20, 0, 200
        end = size
        headers = {"Content-Type": "application/octet-stream", "ETag": '"large-1"', "Accept-Ranges": "bytes"}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted and self.headers.get("If-Range", '"large-1"') == '"large-1"':
            start, end, status = int(wanted[1]), min(int(wanted[2] or size) + 1, size), 206
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        self.answer(status, headers | {"Content-Length": str(end - start)}, b"")
        for place in range(start, end, 1 << 16):
            line = b"%07d\n" * 8192 % tuple(range(place // 8, place // 8 + 8192))
            try:
                self.wfile.write(line[: end - place])
            except ConnectionError:
                return  # another connection brings the rest
            time.sleep(1 / 48)

    def resume(self):
        """Resumable uploads (draft-ietf-httpbis-resumable-upload-05); the first of each name is cut in the middle."""
        length, held = int(self.headers.get("Content-Length", 0)), self.kept.get(self.path, b"")
        version = {"Upload-Draft-Interop-Version": "6"}
        if self.command == "HEAD":
            self.answer(204, version | {"Upload-Offset": str(len(held)), "Upload-Complete": "?0"}, b"")
        elif self.command == "PATCH":
            self.kept[self.path] = held + self.rfile.read(length)
            self.answer(201, version, b"")
        else:
            self.wfile.write(b"HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Draft-Interop-Version: 6\r\n")
            self.wfile.write(b"Location: %b\r\n\r\n" % self.path.encode())
            self.kept[self.path] = self.rfile.read(length)[: length // 2]
            self.close_connection = True

    def notes(self):
        """A token for a password, and with that token one note to be stored and looked up."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = {"Content-Type": "application/json"}
        if self.path == "/api/tokens":
            isKnown = json.loads(body) == {"user": "robot", "password": "open-sesame"}
            self.answer(200 if isKnown else 401, kind, b'{"token": "t-4242-example"}' if isKnown else b'{"error": "who?"}')
        elif self.path == "/api/oauth2/token":
            isKnown = self.headers.get("Authorization") == self.robot
            granted = b'{"access_token": "t-4242-example", "token_type": "Bearer", "expires_in": 3600}'
            self.answer(200 if isKnown else 401, kind, granted if isKnown else b'{"error": "invalid_client"}')
        elif self.path == "/api/summaries":
            print("summary:", body.decode(), flush=True)
            self.answer(201, kind, b"{}")
        elif self.headers.get("Authorization") != "Bearer t-4242-example":
            self.answer(403, kind, b'{"error": "sign in first"}')
        elif self.path.startswith("/api/orders"):
            self.orders(kind)
        elif self.command == "POST":
            Handler.note = len(body)
            self.answer(201, kind, b'{"id": 7, "bytes": %d}' % len(body))
        else:
            self.answer(200, kind, b'{"id": 7, "bytes": %d, "state": "stored"}' % Handler.note)

    def orders(self, kind):
        """Five orders, two on a page."""
        place, _, page = self.path.partition("?page=")
        if place != "/api/orders":
            self.answer(200, kind, json.dumps({"id": int(place.rpartition("/")[2]), "state": "paid"}).encode())
            return
        first = 2 * int(page or 1) - 1
        link = {"Link": f'</api/orders?page={int(page or 1) + 1}>; rel="next"'} if first < 5 else {}
        self.answer(200, kind | link, json.dumps([{"id": id} for id in range(first, min(first + 2, 6))]).encode())

    def do_POST(self):
        if self.path.startswith("/api/"):
            self.notes()
        elif self.path == "/account/session":
            self.sign_in()
        else:
            self.take()

    def do_HEAD(self):
        if self.path.startswith("/resumable/"):
            self.resume()
        elif self.path in self.kept:
            body = self.kept[self.path]
            self.answer(200, {"ETag": self.etag(body), "Content-Length": str(len(body))}, b"")
        else:
            super().do_HEAD()

    def do_GET(self):
        if self.path == "/large.bin":
            self.large()
        elif self.path.startswith("/api/"):
            self.notes()
        elif self.path.startswith("/private/") and self.headers.get("Authorization") != self.robot:
            self.answer(401, {"WWW-Authenticate": 'Basic realm="private"'}, b"who?\n")
        elif self.path.startswith("/busy/") and self.path not in self.asked:
            self.asked.add(self.path)
            self.answer(503, {}, b"try again\n")
        elif self.path != "/account/prices.json":
            self.path = re.sub("^/(private|busy)/", "/", self.path)
            super().do_GET()
        elif "session=opened" in self.headers.get("Cookie", ""):
            headers = {"Content-Type": "application/json", "Cache-Control": "private, max-age=600"}
            self.answer(200, headers, b'{"apples": 3}\n')
        else:
            self.answer(403, {}, b"sign in first\n")

    def do_PUT(self):
        if self.path.startswith("/resumable/"):
            self.resume()
        else:
            self.take()

    do_PATCH = resume

    def log_message(self, *arguments):
        pass


handler = functools.partial(Handler, directory=sys.argv[1])
port = sys.argv[2] if len(sys.argv) > 2 else "0"
if not port.isdecimal():
    with socketserver.ThreadingUnixStreamServer(sys.argv[2], handler) as server:
        atexit.register(os.remove, sys.argv[2])
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        print(sys.argv[2], flush=True)
        server.daemon_threads = True
        server.serve_forever()
with http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
