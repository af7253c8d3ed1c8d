#!/usr/bin/python3
"""Makes docs/terminal.svg: what a terminal shows in the middle of a run, drawn from the program's own output.

usage: tools/terminal_picture.py BINARY SVG

A server of its own on 127.0.0.1 sends files at a limited rate, one of them wrong and one only later. The run is seen
through a terminal emulator (pyte) until its largest file is half there, drawn, and stopped.
"""
import functools, http.server, os, re, signal, sys, tempfile, threading, time
import xml.sax.saxutils

import terminal

COLUMNS, ROWS = 112, 16
CELL, LINE, MARGIN = 8.4, 19, 18
COLOURS = {"default": "#d5dae3", "green": "#8ccf7e", "red": "#f07178", "brown": "#e6c384", "yellow": "#e6c384",
           "blue": "#7aa2f7", "cyan": "#7dcfd3", "magenta": "#c099ff", "brightblack": "#8b94a7", "black": "#8b94a7"}
MIB = 1 << 20

# Path: size and bytes a second.
FILES = {"/Release": (150_000, 4 * MIB), "/amd64/Packages.xz": (900_000, 2 * MIB), "/arm64/Packages.xz": (900_000, MIB),
         "/netinst.iso": (64 * MIB, 6 * MIB), "/dvd-1.iso": (96 * MIB, 3 * MIB), "/manual.pdf": (400_000, 4 * MIB)}

JOB = """\
sessions:
  default: { connectTo: { "mirror.example.org": "127.0.0.1:%d", "files.example.net": "127.0.0.1:%d" } }
variables: { site: "http://mirror.example.org" }
tasks:
  - { id: release, url: "${site}/Release", to: mirror/Release }
  - id: packages-${arch}
    forEach: { arch: [amd64, arm64] }
    needs: [release]
    url: ${site}/${arch}/Packages.xz
    to: mirror/${arch}/Packages.xz
  - { id: netinst.iso, url: "${site}/netinst.iso", to: mirror/ }
  - { id: dvd-1.iso, url: "${site}/dvd-1.iso", to: mirror/ }
  - { id: firmware, url: "http://files.example.net/firmware.zip", to: mirror/ }
  - id: manual
    url: ${site}/manual.pdf
    to: mirror/
    checksum: sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size, rate = FILES.get(self.path, (0, 1))
        self.send_response(200 if size else 503)
        if not size:
            self.send_header("Retry-After", "20")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        begin, sent = time.monotonic(), 0
        while sent < size:
            piece = min(16384, size - sent)
            self.wfile.write(bytes(piece))
            sent += piece
            time.sleep(max(0, sent / rate - (time.monotonic() - begin)))

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass

    def log_message(self, *arguments):
        pass


def runs(line):
    """The stretches of a line that look alike: the first column, the text, its colour, whether it is bold."""
    start = 0
    look = lambda x: (line[x].fg, line[x].bold)
    for x in range(1, COLUMNS + 1):
        if x == COLUMNS or look(x) != look(start):
            yield start, "".join(line[i].data for i in range(start, x)), *look(start)
            start = x


def svg(command, screen):
    rows = list(screen.history.top) + [screen.buffer[y] for y in range(screen.lines)]
    while rows and not "".join(rows[-1][x].data for x in range(COLUMNS)).strip():
        rows.pop()
    width, height = round(2 * MARGIN + COLUMNS * CELL), 2 * MARGIN + 26 + LINE * (len(rows) + 1)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'role="img" aria-label="A run in a terminal: finished files, one that failed, bars of those under way">',
           f'<rect width="{width}" height="{height}" rx="9" fill="#1b1f2a"/>']
    out += [f'<circle cx="{MARGIN + 6 + 20 * i}" cy="18" r="6" fill="{colour}"/>'
            for i, colour in enumerate(["#f07178", "#e6c384", "#8ccf7e"])]
    out.append('<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14">')

    def text(row, column, shown, colour, bold):
        x, y = MARGIN + column * CELL, MARGIN + 40 + row * LINE
        weight = ' font-weight="bold"' if bold else ""
        if set(shown) == {"━"}:  # fonts leave gaps between these
            colour = "#4b5368" if colour == COLOURS["default"] else colour  # what is not there yet
            out.append(f'<rect x="{x:.1f}" y="{y - 6}" width="{len(shown) * CELL:.1f}" height="3" fill="{colour}"/>')
            return
        out.append(f'<text x="{x:.1f}" y="{y}" fill="{colour}"{weight} textLength="{len(shown) * CELL:.1f}">'
                   f"{xml.sax.saxutils.escape(shown)}</text>")

    text(0, 0, f"$ {command}", "#ffffff", True)
    for y, line in enumerate(rows, 1):
        for column, words, colour, bold in runs(line):
            # Bars are drawn, and words apart placed one by one: not every viewer keeps several blanks.
            for part in re.finditer("━+|[^━ ]+(?: [^━ ]+)*", words):
                text(y, column + part.start(), part.group(), COLOURS.get(colour, f"#{colour}"), bold)
    return "\n".join(out + ["</g>", "</svg>", ""])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binary, picture = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("mirror.transfer.yaml", "w") as job:
            job.write(JOB % (server.server_port, server.server_port))
        os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", LC_ALL="C.UTF-8")
        seen = terminal.Terminal(COLUMNS, ROWS, [binary, "mirror.transfer.yaml", "--state-dir", f"{folder}/state"])
        half = lambda: any(re.search(r"netinst.*\b(5[0-9])%", line) for line in seen.screen.display)
        seen.until("half of netinst.iso", half)
        drawn = svg("transfer-run mirror.transfer.yaml", seen.screen)
        os.kill(seen.job, signal.SIGINT)
        seen.end()
        os.chdir("/")
    with open(picture, "w") as file:
        file.write(drawn)


main()
