#!/usr/bin/env python3
"""Runs a command in a pseudo-terminal and shows what a person would see there, by a terminal emulator (pyte).

usage: tools/terminal.py COLUMNS ROWS COMMAND [ARGUMENT...]

What to do stands in the file that TERMINAL_STEPS names, one step a line; without one it waits for the command's end.
  wait TEXT          until the screen shows TEXT (or two minutes have passed: status 1)
  rows N TEXT        until N rows of the screen show TEXT
  gone TEXT          until the screen does not show TEXT any more
  shot NAME          prints the screen
  resize COLUMNS ROWS
  type TEXT          as on a keyboard; \\x03 is Ctrl-C, \\x1a Ctrl-Z
  signal NUMBER      to the command
  stopped            until the command is stopped, and the shell has the terminal
  continue           as the shell's `fg`
  get URL            asks for URL (a server of the test's own that is waiting)
  end                until the command has ended; its status is printed
Lines that have scrolled away are part of every screen that is printed.
"""
import fcntl, os, pty, select, signal, struct, sys, termios, time, urllib.request
import pyte

LIMIT = 120


def be_a_shell(command, orders, news):
    """What a shell does for one job: the terminal is the job's while it runs, and the shell's while it is stopped."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.read(orders, 1)
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(command[0], command)
    os.setpgid(job, job)
    os.tcsetpgrp(0, job)
    os.write(news, f"{job}\n".encode())
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        os.tcsetpgrp(0, os.getpgrp())
        os.write(news, b"stopped\n")
        os.read(orders, 1)
        os.tcsetpgrp(0, job)
        os.kill(-job, signal.SIGCONT)


class Terminal:
    def __init__(self, columns, rows, command):
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        orders, self.orders = os.pipe()
        self.news, news = os.pipe()
        self.shell, self.terminal = pty.fork()
        if self.shell == 0:
            os.close(self.orders)
            os.close(self.news)
            be_a_shell(command, orders, news)
        os.close(orders)
        os.close(news)
        self.resize(columns, rows)
        self.job = int(os.read(self.news, 20))
        os.write(self.orders, b"x")

    def resize(self, columns, rows):
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def read(self, seconds):
        """Takes what the command wrote; False at its end."""
        ready, _, _ = select.select([self.terminal], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            return False
        self.stream.feed(data)
        return bool(data)

    def lines(self):
        past = ["".join(line[x].data for x in range(self.screen.columns)) for line in self.screen.history.top]
        lines = [line.rstrip() for line in past + list(self.screen.display)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def until(self, what, holds):
        end = time.monotonic() + LIMIT
        while not holds():
            if time.monotonic() > end:
                print(f"!! {what} was waited for in vain; the screen:", *self.lines(), sep="\n")
                os.kill(self.job, signal.SIGKILL)
                sys.exit(1)
            if not self.read(0.02) and not holds():
                time.sleep(0.02)

    def rows(self, text):
        return sum(text in line for line in self.screen.display)

    def has_stopped(self):
        ready, _, _ = select.select([self.news], [], [], 0)
        return bool(ready) and os.read(self.news, 20) == b"stopped\n"

    def end(self):
        limit = time.monotonic() + LIMIT
        while self.read(0.1) and time.monotonic() < limit:
            pass
        _, status = os.waitpid(self.shell, 0)
        print(f"== status {os.waitstatus_to_exitcode(status)}")

    def step(self, words):
        verb, _, rest = words.partition(" ")
        if verb == "wait":
            self.until(rest, lambda: self.rows(rest) > 0)
        elif verb == "rows":
            count, _, text = rest.partition(" ")
            self.until(rest, lambda: self.rows(text) == int(count))
        elif verb == "gone":
            self.until(f"the end of {rest}", lambda: self.rows(rest) == 0)
        elif verb == "shot":
            print(f"== {rest}", *self.lines(), sep="\n")
        elif verb == "resize":
            columns, rows = rest.split()
            self.resize(int(columns), int(rows))
        elif verb == "type":
            os.write(self.terminal, rest.encode().decode("unicode_escape").encode("latin-1"))
        elif verb == "signal":
            os.kill(self.job, int(rest))
        elif verb == "stopped":
            self.until("its stop", self.has_stopped)
        elif verb == "continue":
            os.write(self.orders, b"x")
        elif verb == "get":
            urllib.request.urlopen(rest).read()
        elif verb == "end":
            self.end()
        else:
            sys.exit(f"no such step: {words}")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    file = os.environ.pop("TERMINAL_STEPS", None)
    steps = open(file).read().split("\n") if file else []
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for step in [step.strip() for step in steps if step.strip()] or ["end", "shot end"]:
        terminal.step(step)


if __name__ == "__main__":
    main()
