"""Chromium without a window, driven over its debugging pipe with nothing but Python's standard library."""
import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


class Browser:
    """One page of a browser with a profile of its own. `events` holds what the page reported since it was opened."""

    def __init__(self, program="chromium"):
        self.folder = tempfile.mkdtemp(prefix="page-test-")
        their_input, self.output = os.pipe()
        self.input, their_output = os.pipe()

        def take_descriptors():
            # The browser reads 3 and writes 4. Copies above them first: the pipes may have these numbers.
            copies = [fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in (their_input, their_output)]
            for number, copy in zip((3, 4), copies):
                os.dup2(copy, number)

        flags = [
            "--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
            "--remote-debugging-pipe", "--user-data-dir=" + self.folder,
        ]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        self.process = subprocess.Popen(
            [program, *flags, "about:blank"], preexec_fn=take_descriptors, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(their_input)
        os.close(their_output)
        self.bytes, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self, seconds=30):
        end = time.monotonic() + seconds
        while b"\0" not in self.bytes:
            if not select.select([self.input], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            more = os.read(self.input, 1 << 18)
            if not more:
                raise EOFError("the browser has ended")
            self.bytes += more
        message, self.bytes = self.bytes.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        os.write(self.output, json.dumps(question).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == question["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def open(self, path):
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            answer = self.message()
            if "method" in answer:
                self.events.append(answer)

    def run(self, script):
        """The value of a JavaScript expression; waits for a promise."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"].get("exception", {}))[:500])
        return result["result"].get("value")

    def settle(self):
        """Waits until the page has drawn what it was told."""
        frame = "requestAnimationFrame"
        self.run(f"new Promise(done => {frame}(() => {frame}(() => {frame}(done))))")

    def key(self, key, text=None):
        codes = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "End": 35, "Home": 36,
                 "Tab": 9}
        for kind in ("keyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
            if kind == "keyDown" and (text or key == "Enter"):
                event["text"] = text or "\r"
            self.call("Input.dispatchKeyEvent", **event)

    def look(self, width, height, dark=False, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self):
        """Errors and warnings that the page caused, violations of its policy among them."""
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Log.entryAdded":
                found.append(parameters["entry"]["text"])
            elif event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                found.append(str(parameters["args"]))
        return found

    def requests(self):
        """What the page asked for, other than itself."""
        urls = [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not (url.startswith("file://") and url.endswith(".html"))]

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, EOFError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
