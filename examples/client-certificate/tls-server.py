#!/usr/bin/env python3
"""Answers over TLS who shows a certificate of certificates/ca.pem, and says whose it is.

usage: tls-server.py       (goes to the background, prints its address, ends after ten minutes or with `kill $(cat server.pid)`)
"""
import http.server
import json
import os
import signal
import ssl


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        subject = dict(pair for (pair,) in self.connection.getpeercert()["subject"])
        body = json.dumps({"commonName": subject["commonName"]}).encode() + b"\n"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile="certificates/ca.pem")
context.load_cert_chain("certificates/server.pem", "certificates/server.key")
context.verify_mode = ssl.CERT_REQUIRED
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
child = os.fork()
if child:
    with open("server.pid", "w") as file:
        print(child, file=file)
    print(f"https://127.0.0.1:{server.server_port}", flush=True)
    os._exit(0)
os.setsid()
for descriptor in range(3):
    os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
signal.alarm(600)
server.serve_forever()
