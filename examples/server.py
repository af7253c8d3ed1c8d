#!/usr/bin/env python3
"""A small web server for trying the examples: serves a folder on 127.0.0.1 and takes uploads without keeping them.

usage: examples/server.py FOLDER [PORT]    (prints its port, one that is free without PORT, and serves until it is ended)
       examples/server.py FOLDER SOCKET    (serves at a Unix socket, which it makes and removes)

/busy/NAME is the folder's NAME, but the first request for it is answered 503; /private/NAME wants robot:open-sesame.
"""
import atexit
import functools
import http.server
import json
import os
import re
import signal
import socketserver
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = set()
    robot = "Basic cm9ib3Q6b3Blbi1zZXNhbWU="  # robot:open-sesame

    def take(self):
        length = len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        answer = b'{"received": %d}\n' % length
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def sign_in(self):
        if self.headers.get("Authorization") != self.robot:
            self.answer(401, {"WWW-Authenticate": 'Basic realm="shop"'}, b"who?\n")
        else:
            self.answer(204, {"Set-Cookie": "session=opened; Path=/account; Max-Age=3600; HttpOnly"}, b"")

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def notes(self):
        """A token for a password, and with that token one note to be stored and looked up."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = {"Content-Type": "application/json"}
        if self.path == "/api/tokens":
            isKnown = json.loads(body) == {"user": "robot", "password": "open-sesame"}
            self.answer(200 if isKnown else 401, kind, b'{"token": "t-4242-example"}' if isKnown else b'{"error": "who?"}')
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

    def do_GET(self):
        if self.path.startswith("/api/"):
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

    do_PUT = take

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
