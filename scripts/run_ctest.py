#!/usr/bin/env python3
"""Runs ctest in the current folder and closes with what a reader must not miss.

Prints ctest's output as it comes, then every skipped test with its reason, then ctest's own closing
summary, then the counts alone on a line. Arguments go to ctest. Exit code: ctest's, or 1 if no test ran.
"""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

JUNIT = "test-results.xml"
CLOSING = re.compile(r"^\d+% tests passed")
# What gtest prints for GTEST_SKIP() << "reason", and what our scripts print before they exit with 77.
REASON = re.compile(r"(?:: Skipped\n|^SKIPPED: )(.+?)$", re.MULTILINE)


def run(arguments):
    """Streams ctest's output up to its closing summary; returns its exit code and that summary."""
    command = ["ctest", "--output-on-failure", "--no-tests=error", "--output-junit", JUNIT, *arguments]
    ctest = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace")
    closing = []
    for line in ctest.stdout:
        if closing or CLOSING.match(line):
            closing.append(line)
        else:
            print(line, end="", flush=True)
    return ctest.wait(), closing


def reason_of(case):
    """Why a test case of the JUnit file was skipped."""
    found = REASON.search(case.findtext("system-out") or "")
    if found:
        return found.group(1).strip()
    return case.find("skipped").get("message") or "no reason given"


def main():
    Path(JUNIT).unlink(missing_ok=True)
    code, closing = run(sys.argv[1:])
    counts = defaultdict(int)
    skipped = defaultdict(list)
    try:
        cases = ElementTree.parse(JUNIT).getroot().findall("testcase")
    except (OSError, ElementTree.ParseError) as error:
        print(f"no test results: {error}")
        return code or 1
    for case in cases:
        if case.find("failure") is not None or case.get("status") == "fail":
            counts["failed"] += 1
        elif case.find("skipped") is not None or case.get("status") != "run":
            counts["skipped"] += 1
            skipped[reason_of(case)].append(case.get("name"))
        else:
            counts["passed"] += 1

    if skipped:
        print(f"\n*** {counts['skipped']} TESTS WERE SKIPPED ***")
        for reason, names in sorted(skipped.items()):
            print(f"{len(names)} x {reason}")
            for name in names:
                print(f"    {name}")
    print("", "".join(closing).rstrip(), sep="\n")
    print(f"\n{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return code or (0 if counts["passed"] else 1)


if __name__ == "__main__":
    sys.exit(main())
