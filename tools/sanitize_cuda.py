#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every test of a program under compute-sanitizer, each in a process of its own, several at once.

  sanitize_cuda.py --tool racecheck [--jobs N] [--limit SECONDS] [--filter PATTERN] PROGRAM

One test after the other, racecheck takes most of an hour for the kernels. It slows them down by
hundreds of times and leaves most of the GPU idle meanwhile, so that as many tests as there are
cores take no longer than one. A test that failed though the tool found nothing runs again, alone:
some look at the memory that is free on the device, which their neighbours take and give back. What
a test printed is shown if it was not clean; a test that took longer than the limit was not.
"""

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

DISTURBED = "failed, though the tool found nothing"


def tests_of(program: str, pattern: str) -> list[str]:
    listed = subprocess.run([program, "--gtest_list_tests", f"--gtest_filter={pattern}"],
                            capture_output=True, text=True, check=True).stdout
    tests = []
    suite = ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if not line.startswith(" "):
            suite = name if name.endswith(".") else ""
        elif suite:
            tests.append(suite + name.strip())
    return tests


def run(args, test: str) -> tuple[str, str, float]:
    """What became of a test ("clean", "skipped" or what is wrong), what it printed, its seconds."""
    command = [args.sanitizer, "--tool", args.tool, "--error-exitcode", "1", args.program, f"--gtest_filter={test}"]
    start = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=args.limit)
    except subprocess.TimeoutExpired as late:
        return "not finished", (late.stdout or b"").decode(errors="replace"), time.monotonic() - start
    seconds = time.monotonic() - start
    if done.returncode != 0:
        found_nothing = "SUMMARY: 0 " in done.stdout and "[  FAILED  ] 1 test" in done.stdout
        return DISTURBED if found_nothing else f"ended with {done.returncode}", done.stdout, seconds
    if "[  SKIPPED ] 1 test" in done.stdout:
        return "skipped", done.stdout, seconds
    if "SUMMARY: 0 " not in done.stdout or "[  PASSED  ] 1 test" not in done.stdout:
        return "without a clean summary", done.stdout, seconds
    return "clean", done.stdout, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--tool", required=True, choices=["memcheck", "racecheck", "initcheck", "synccheck"])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=600, help="seconds for one test")
    parser.add_argument("--filter", default="*", help="tests, as --gtest_filter has them")
    parser.add_argument("--sanitizer", default="compute-sanitizer")
    args = parser.parse_args()

    tests = tests_of(args.program, args.filter)
    if not tests:
        print(f"sanitize_cuda: {args.program} has no test called {args.filter}", file=sys.stderr)
        return 1
    outcomes: dict[str, int] = {}
    slowest = (0.0, "")
    again = []

    def count(test: str, outcome: str, text: str, seconds: float) -> None:
        nonlocal slowest
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        slowest = max(slowest, (seconds, test))
        if outcome not in ("clean", "skipped"):
            print(f"{test}: {outcome} after {seconds:.0f} s\n{text[-3000:]}", flush=True)

    with ThreadPoolExecutor(args.jobs) as pool:
        started = {pool.submit(run, args, test): test for test in tests}
        for done in as_completed(started):
            if done.result()[0] == DISTURBED:
                again.append(started[done])
            else:
                count(started[done], *done.result())
    for test in again:
        count(test, *run(args, test))
    bad = len(tests) - outcomes.get("clean", 0) - outcomes.get("skipped", 0)
    print(f"{args.tool}: {outcomes.get('clean', 0)} tests clean, {bad} not, {outcomes.get('skipped', 0)} skipped, "
          f"slowest {slowest[0]:.0f} s ({slowest[1]})")
    return 1 if bad or "clean" not in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
