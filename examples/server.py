#!/usr/bin/env python3
"""A small web server for trying the examples: serves a folder on 127.0.0.1 and takes uploads without keeping them.

usage: examples/server.py FOLDER    (prints the port it chose, then serves until it is ended)
"""
import functools
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def take(self):
        length = len(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        answer = b'{"received": %d}\n' % length
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_PUT = do_POST = take

    def log_message(self, *arguments):
        pass


handler = functools.partial(Handler, directory=sys.argv[1])
with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
    print(server.server_port, flush=True)
    server.serve_forever()
