#!/usr/bin/env python3
"""A list of downloads as a program with windows would show it, with transfer-run doing the work.

usage: download-list.py FOLDER URL...        then, line by line: pause N, resume N, cancel N
"""
import json, os, socket, subprocess, sys, threading


class Downloads:
    """Calls `changed` with the whole list whenever something of it is new."""

    def __init__(self, folder, urls, changed, state):
        self.changed, self.state = changed, state
        self.items = {f"file-{n}": {"url": url, "state": "waiting", "bytes": 0, "size": None, "path": None}
                      for n, url in enumerate(urls)}
        job = {"name": "download-list",
               "tasks": [{"id": id, "type": "download", "url": item["url"], "to": folder.rstrip("/") + "/"}
                         for id, item in self.items.items()]}
        command = [os.environ.get("TRANSFER_RUN", "transfer-run"), "run", "-", "--state-dir", state,
                   "--events", "-", "--no-report", "--progress", "none"]
        self.run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.run.stdin.write(json.dumps(job))  # JSON is YAML
        self.run.stdin.close()
        self.begun = threading.Event()

    def follow(self):
        for line in self.run.stdout:
            self.begun.set()  # from its first event on a run can be asked
            event = json.loads(line)
            item = self.items.get(event["task"])
            if item is None:
                continue
            match event["event"]:
                case "attemptStarted": item.update(state="running")
                case "receivedData" | "resumedAtOffset":
                    item.update(bytes=event.get("bytes", event.get("offset")), size=event["expected"])
                case "waiting" if event["reason"] == "suspended": item.update(state="paused")
                case "fileFinished": item.update(path=event["path"], bytes=event["bytes"])
                case "taskFinished":
                    item.update(state=event["outcome"], why=event["error"] and event["error"]["message"])
                case _: continue
            self.changed(self.items)
        return self.run.wait()

    def ask(self, command, id):
        """`suspend`, `resume` or `cancel`: one line of JSON to the run's socket, and one back."""
        self.begun.wait()
        with socket.socket(socket.AF_UNIX) as control:
            control.connect(f"{self.state}/runtime/run-{self.run.pid}.socket")
            control.sendall(json.dumps({"version": 1, "command": command, "tasks": [id]}).encode() + b"\n")
            return json.loads(control.makefile().readline())


def show(items):
    cells = [f"{id} {item['state']} {item['bytes']}/{item['size'] or '?'}" for id, item in items.items()]
    print(" | ".join(cells), flush=True)


def obey(downloads):
    for line in sys.stdin:
        verb, number = line.split()
        downloads.ask({"pause": "suspend"}.get(verb, verb), f"file-{number}")


if __name__ == "__main__":
    state = os.environ.get("DOWNLOAD_LIST_STATE", os.path.expanduser("~/.local/state/download-list"))
    downloads = Downloads(sys.argv[1], sys.argv[2:], show, state)
    threading.Thread(target=obey, args=[downloads], daemon=True).start()
    sys.exit(downloads.follow())
