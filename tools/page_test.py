#!/usr/bin/env python3
"""Opens the HTML reports that the program makes in a browser, and tries what a reader does. Also takes the picture in docs/.

usage: tools/page_test.py BINARY            (prints what failed, and how many checks passed)
       tools/page_test.py BINARY --picture  (writes docs/html-report.png)
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import many_tasks
from browser import Browser

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOLDEN = os.path.join(ROOT, "Tests/ExportsTests/Golden")
RECORDED = os.path.join(GOLDEN, "nightly-mirror.json")
HOSTILE = "</script><img src=x onerror=hack()><!--\u2028\u202e\"'&`$(id)"

# Text whose colour and ground differ too little, as [text, contrast].
FAINT_TEXT = """
(() => {
    const channels = colour => (colour.match(/[\\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const ground = element => {
        for (; element; element = element.parentElement) {
            const [r, g, b, a = 1] = channels(getComputedStyle(element).backgroundColor);
            if (a > 0 && r !== undefined) return [r, g, b];
        }
        return [255, 255, 255];
    };
    const faint = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, style")) continue;
        const [a, b] = [light(channels(getComputedStyle(element).color)), light(ground(element))].sort((x, y) => y - x);
        const contrast = (a + .05) / (b + .05);
        if (contrast < 4.5) faint.push([walker.currentNode.data.trim().slice(0, 40), contrast.toFixed(2)]);
    }
    return faint.slice(0, 5);
})()
"""

UNNAMED_CONTROLS = """
[...document.querySelectorAll("button, input, select, a[href], [tabindex]")].filter(control => control.checkVisibility()
    && !(control.getAttribute("aria-label") || control.labels?.length || control.textContent.trim()))
    .map(control => control.outerHTML.slice(0, 80))
"""


class Checks:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def equal(self, what, found, wanted):
        self.true(f"{what}: {json.dumps(found)[:300]} instead of {json.dumps(wanted)[:300]}", found == wanted)

    def true(self, what, holds):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"page: {what}")


def convert(binary, report, folder):
    page = os.path.join(folder, os.path.basename(report).removesuffix(".json") + ".html")
    done = subprocess.run([binary, "report", "convert", report, "--html", page], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"page: report convert failed: {done.stderr}")
    return page


def hostile_report(folder):
    """The recorded report with text in every id, message and header that would be markup."""
    with open(RECORDED, encoding="utf-8") as file:
        report = json.load(file)
    for number, task in enumerate(report["tasks"]):
        task["id"] = f"{number}{HOSTILE}"
        task["description"] = task["explanation"] = HOSTILE
        if task["response"]:
            task["response"]["headers"].append(["X-Mark", HOSTILE])
        if task["error"]:
            task["error"]["message"] = HOSTILE
            task["body"] = {"text": HOSTILE}
    report["job"]["name"] = HOSTILE
    path = os.path.join(folder, "hostile.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, ensure_ascii=False)
    return path


def quiet(checks, browser, name):
    checks.equal(f"{name}: complaints", browser.complaints(), [])
    checks.equal(f"{name}: requests", browser.requests(), [])


def table(checks, browser):
    """Sorts, filters, opens a row by keyboard."""
    rows = "[...document.querySelectorAll('tr.task')]"
    ids = f"{rows}.map(row => row.querySelector('bdi').textContent)"
    checks.equal("what failed comes first", browser.run(f"{ids}.slice(0, 2)"), ["gone-alpha", "gone-beta"])
    sort = "document.querySelectorAll('.live thead th')[6].querySelector('button').click()"
    browser.run(sort)
    times = browser.run(f"{ids}.slice(0, 5).map(id => tasks.duration[tasks.id.indexOf(id)])")
    checks.equal("sorted by time", times, sorted(times, reverse=True))
    checks.equal("the sort is told", browser.run("document.querySelector('[aria-sort]').ariaSort"), "descending")
    browser.run(f"{sort}; {sort}")
    browser.run("document.querySelector('input[type=search]').focus()")
    for letter in "kernel":
        browser.key(letter, letter)
    checks.equal("filtered by text", browser.run(f"{ids}"), ["kernel-headers", "kernel-image"])
    checks.equal("the filter is told", browser.run("document.querySelector('.shown').textContent"), "2 of 39 tasks")
    browser.run("(s => { s.value = ''; s.dispatchEvent(new Event('input')); })(document.querySelector('[type=search]'))")
    browser.run("document.querySelector('[data-only=failed]').click()")
    checks.equal("filtered by outcome", browser.run(f"{rows}.length"), 5)
    browser.run("document.querySelector('[data-only=all]').click()")

    browser.run("document.querySelector('.opener').focus()")
    browser.key("ArrowDown")
    browser.key("Enter")
    browser.settle()
    focused = "document.activeElement.closest('tr')"
    checks.equal("opened by keyboard", browser.run(f"{focused}.querySelector('button').ariaExpanded"), "true")
    opened = browser.run(f"{focused}.nextElementSibling.innerText")
    for part in ("404 Not Found", "Where the time went", "Attempt 1", "first byte", "curl https://mirror.example.org/debian/pool/gone/beta.deb"):
        checks.true(f"an opened row shows `{part}`", part in opened)
    browser.key("Enter")
    checks.equal("closed by keyboard", browser.run("document.querySelectorAll('tr.opened').length"), 0)
    browser.run("show(tasks.id.indexOf('kernel-image'))")
    opened = browser.run("document.querySelector('tr.opened').innerText")
    checks.true("a redirect is shown", "302" in opened and "cdn.example.net" in opened)
    browser.run("show(tasks.id.indexOf('tags'))")
    opened = browser.run("[...document.querySelectorAll('tr.opened')].map(row => row.innerText).join()")
    checks.true("a challenge is shown", "basic from registry.example.com:443" in opened and "--user '***'" in opened)
    for task in ("kernel-image", "tags"):
        browser.run(f"toggle(tasks.id.indexOf('{task}'))")


def course(checks, browser):
    """The timeline: connections, waits, the critical path, zoom by key and button."""
    browser.run("document.querySelector('.pane').focus()")
    length = "timeline.view.to - timeline.view.from"
    whole = browser.run(length)
    browser.key("+", "+")
    checks.true("a key zooms in", browser.run(length) < whole * .7)
    before = browser.run("timeline.view.from")
    browser.key("ArrowRight")
    checks.true("a key moves", browser.run("timeline.view.from") > before)
    browser.key("0", "0")
    checks.equal("a key shows all", browser.run(length), whole)
    browser.run("document.querySelector('[aria-label=\"Zoom in\"]').click()")
    checks.true("a button zooms in", browser.run(length) < whole * .7)
    browser.key("0", "0")
    browser.key("n", "n")
    checks.true("a key chooses a request", browser.run("document.querySelector('.chosen').textContent") != "")
    browser.key("Enter")
    browser.settle()
    checks.equal("a key opens its task", browser.run("document.querySelectorAll('tr.opened').length"), 1)
    browser.run("for (const t of [...table.open.keys()]) toggle(t)")
    path = browser.run("timeline.chain.map(link => tasks.id[link.task])")
    wanted = ["release", "packages-riscv64", "deb-1", "deb-10", "installer"]
    checks.equal("the critical path", [path[:5], path[-1]], [wanted, "announce"])
    spans = browser.run("timeline.chain.map(link => [link.from, link.to])")
    gaps = [abs(after[0] - before[1]) for before, after in zip(spans, spans[1:])]
    checks.true(f"the critical path has no gaps: {gaps}", max(gaps) < 10)
    kinds = browser.run("timeline.rows.map(row => row.kind)")
    checks.true("rows of connections, waits and pauses", {"host", "connection", "waiting", "pauses"} == set(kinds))
    unnamed = browser.run("""tasks.id.filter((id, t) => piecesOf(t).some(piece =>
        piece.reason === 'unknown' && piece.to - piece.from > 10))""")
    checks.equal("tasks with time that is not named", unnamed, [])
    sums = browser.run("""tasks.id.filter((id, t) => tasks.duration[t] > 0
        && Math.abs(piecesOf(t).filter(piece => !piece.isInside).reduce((sum, piece) => sum + piece.to - piece.from, 0) - tasks.duration[t]) > 5)""")
    checks.equal("tasks whose pieces are not their time", sums, [])


def looks(checks, browser):
    """Nothing is wider than the page, faint or without a name, at any width, light and dark."""
    browser.run("toggle(tasks.id.indexOf('firmware'))")
    for width in (400, 900, 1400):
        for dark in (False, True):
            browser.look(width, 900, dark)
            browser.settle()
            name = f"{width} pixels, {'dark' if dark else 'light'}"
            checks.true(f"{name}: scrolls sideways", browser.run("document.documentElement.scrollWidth") <= width)
            checks.equal(f"{name}: faint text", browser.run(FAINT_TEXT), [])
            checks.equal(f"{name}: controls without a name", browser.run(UNNAMED_CONTROLS), [])
    browser.run("toggle(tasks.id.indexOf('firmware'))")


def without_scripts(checks, browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page)
    root = browser.call("DOM.getDocument", depth=0)["root"]["nodeId"]

    def text(selector):
        node = browser.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        return browser.call("DOM.getOuterHTML", nodeId=node)["outerHTML"] if node else ""

    failures, tasks = text("#failures"), text("#tasks tbody")
    checks.true("no scripts: the outcome", "5 of 39 tasks failed" in text(".outcome"))
    for part in ("404 Not Found", "Check the URL.", "gone-beta", "1 task that needs it was skipped", "403 Forbidden"):
        checks.true(f"no scripts: failures show `{part}`", part in failures)
    checks.equal("no scripts: tasks in the table", tasks.count("<tr"), 39)
    checks.true("no scripts: it says so", "Without scripts" in text("#tasks noscript"))
    browser.call("Emulation.setScriptExecutionDisabled", value=False)


def hostile(checks, browser, page):
    browser.open(page)
    quiet(checks, browser, "hostile text")
    browser.run("[0, 1, 2].forEach(t => show(t))")
    browser.settle()
    checks.equal("hostile text makes no elements", browser.run("document.querySelectorAll('img').length"), 0)
    shown = browser.run("document.querySelector('h1').textContent")
    checks.equal("hostile text is shown", shown, HOSTILE.replace("\u2028", "\\u{2028}").replace("\u202e", "\\u{202e}"))


def every_kind(checks, browser, page):
    """Cached, unchanged, skipped and deferred tasks, segments, an upload: each row can be opened."""
    browser.open(page)
    browser.run("for (let t = 0; t < taskCount; t++) show(t)")
    browser.settle()
    quiet(checks, browser, "every kind of task")
    sums = browser.run("Array.from({ length: taskCount }, (_, t) => detailsFor(t).textContent).every(text => text)")
    checks.true("each task has details", sums)


def empty(checks, browser, binary, folder):
    with open(RECORDED, encoding="utf-8") as file:
        report = json.load(file)
    report["tasks"] = []
    report["totals"] = dict.fromkeys(report["totals"], 0)
    path = os.path.join(folder, "empty.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file)
    browser.open(convert(binary, path, folder))
    browser.settle()
    quiet(checks, browser, "no tasks")
    checks.equal("no tasks: the table says so", browser.run("document.querySelector('.shown').textContent"), "0 tasks")


def many(checks, browser, page):
    size = os.path.getsize(page)
    checks.true(f"10,000 tasks are {size} bytes", size <= 3_000_000)
    begin = time.monotonic()
    browser.open(page)
    browser.settle()
    checks.true(f"10,000 tasks took {time.monotonic() - begin:.1f} s to open", time.monotonic() - begin < 5)
    quiet(checks, browser, "10,000 tasks")
    checks.true("only rows in view are elements", browser.run("document.querySelectorAll('tr.task').length") < 120)
    browser.run("document.querySelector('.opener').focus()")
    browser.key("End")
    browser.settle()
    last = browser.run("document.activeElement.closest('tr').ariaRowIndex")
    checks.equal("the last row is reached by key", last, "10001")
    frame = browser.run("(() => { const begin = performance.now(); timeline.cache.clear(); drawAxis(); drawRows();"
                        " drawCurves(); return performance.now() - begin; })()")
    checks.true(f"a frame of the timeline took {frame:.0f} ms", frame < 100)


def counted(checks, browser, page):
    browser.open(page)
    browser.settle()
    quiet(checks, browser, "25,000 tasks")
    checks.true("counted by host", browser.run("!data.whole && timeline.rows.every(row => row.kind === 'host')"))
    checks.true("failures are whole", browser.run("tasks.outcome.every(outcome => outcome === 1) && requestCount > 0"))
    busy = browser.run("inUse(timeline.models, { from: 0, to: runEnd }, 100).some(value => value > 10)")
    checks.true("connections are counted", busy)
    browser.run("document.querySelector('.ids a').click()")
    checks.equal("a failure opens", browser.run("document.querySelectorAll('tr.opened').length"), 1)


def test(binary, folder):
    checks = Checks()
    page = convert(binary, RECORDED, folder)
    browser = Browser()
    try:
        browser.look(1400, 900)
        browser.open(page)
        browser.settle()
        quiet(checks, browser, "recorded report")
        table(checks, browser)
        course(checks, browser)
        looks(checks, browser)
        quiet(checks, browser, "recorded report, used")
        browser.look(1400, 900)
        without_scripts(checks, browser, page)
        hostile(checks, browser, convert(binary, hostile_report(folder), folder))
        every_kind(checks, browser, convert(binary, os.path.join(GOLDEN, "report.json"), folder))
        empty(checks, browser, binary, folder)
        for number, check in ((10_000, many), (25_000, counted)):
            report = os.path.join(folder, f"{number}.json")
            many_tasks.write(number, report)
            check(checks, browser, convert(binary, report, folder))
            os.remove(report)
    finally:
        browser.close()
    print(f"page: {checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed else 0


def picture(binary, folder):
    browser = Browser()
    try:
        browser.look(1200, 1660)
        browser.open(convert(binary, RECORDED, folder))
        browser.settle()
        browser.picture(os.path.join(ROOT, "docs/html-report.png"))
    finally:
        browser.close()
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit((picture if "--picture" in sys.argv else test)(os.path.abspath(sys.argv[1]), temporary))
