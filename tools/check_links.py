#!/usr/bin/python3
"""Checks that each link of the Markdown pages leads to a file that is there and, where it names one, to a heading.

Every finding is `file:line: what`; the status is 1 when there was one. Links to other sites are not followed.

usage: tools/check_links.py
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def lines(page):
    """The lines outside of fenced blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found, counts = set(), {}
    for _, line in lines(page):
        heading = re.match(r"#{1,6} (.*)", line)
        if heading:
            title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            name = "".join("-" if sign == " " else sign for sign in title if sign.isalnum() or sign in " -_")
            count = counts.get(name, 0)
            counts[name] = count + 1
            found.add(f"{name}-{count}" if count else name)
    return found


def problem(page, link):
    if re.match(r"[a-z]+:", link):
        return None
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    if not target.exists():
        return f"`{link}` leads to no file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"`{link}` leads to no heading"
    return None


def main():
    names = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z", "-co", "--exclude-standard", "*.md"],
        check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
    count = findings = 0
    for name in names:
        page = ROOT / name
        for number, line in lines(page):
            for link in re.findall(r"\]\(([^)\s]+)\)", line) + re.findall(r"^\[[^\]]+\]: (\S+)", line):
                count += 1
                what = problem(page, link)
                if what:
                    findings += 1
                    print(f"{name}:{number}: {what}")
    print(f"links: {count} in {len(names)} pages, {findings} wrong")
    sys.exit(1 if findings or not count else 0)


if __name__ == "__main__":
    main()
