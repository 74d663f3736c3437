# SPDX-License-Identifier: Apache-2.0
"""What the scripts of the scoreboard share: their flags, the server they start, what a process
holds, and the one line that each prints."""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "server")]

from serving import Server  # noqa: E402,F401  (the scripts take it from here)


def arguments(what: str, **extra) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--binary", default=str(ROOT / "build" / "release" / "ingot"),
                        help="the program to test")
    parser.add_argument("--long", action="store_true", help="the form for `make soak`")
    parser.add_argument("--seed", type=int, default=0, help="of what is random; 0: drawn")
    for name, (default, text) in extra.items():
        parser.add_argument(f"--{name}", type=type(default), default=default, help=text)
    chosen = parser.parse_args()
    chosen.seed = chosen.seed or int.from_bytes(os.urandom(3), "big")
    return chosen


def say(*words) -> None:
    """A detail; the scoreboard's lines are those on standard output."""
    print(*words, file=sys.stderr, flush=True)


def verdict(name: str, figure, unit: str, is_passed: bool) -> bool:
    print(f"{name} {figure} {unit} {'pass' if is_passed else 'fail'}", flush=True)
    return is_passed


def finish(*passed: bool) -> None:
    sys.exit(0 if all(passed) else 1)


@dataclass
class Holdings:
    """What a process has at a moment."""
    rss: int  # bytes
    fds: int
    threads: int
    cpu: float  # seconds used so far


def holdings(pid: int) -> Holdings:
    status = Path(f"/proc/{pid}/status").read_text()
    values = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    times = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return Holdings(rss=int(values["VmRSS"].split()[0]) * 1024,
                    fds=len(os.listdir(f"/proc/{pid}/fd")),
                    threads=int(values["Threads"]),
                    cpu=(int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK"))


def thread_times(pid: int) -> dict[str, tuple[float, float]]:
    """Of each thread: the seconds it ran, and those it waited for a processor."""
    threads = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            ran, waited, _ = map(int, Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split())
        except OSError:
            continue  # it has just ended
        threads[task] = (ran / 1e9, waited / 1e9)
    return threads


def longest_wait(before: dict, after: dict) -> float:
    """How long the unluckiest thread waited for a processor in between."""
    return max(waited - before.get(task, (0, 0))[1] for task, (_, waited) in after.items())


class FairClock:
    """Time as the server's engine had it: without what it waited for a processor because others than
    the server were using it. Speeds by this clock can be compared on a busy machine."""

    def __init__(self, pid: int):
        self.pid = pid
        self.mark = self._read()

    def _read(self) -> tuple:
        return time.monotonic(), thread_times(self.pid)

    def lap(self) -> float:
        """Seconds since the last lap."""
        (before, old), (now, new) = self.mark, self._read()
        self.mark = (now, new)
        used = {task: (ran - old.get(task, (0, 0))[0], waited - old.get(task, (0, 0))[1])
                for task, (ran, waited) in new.items()}
        engine = max(used, key=lambda task: used[task][0])
        ran, waited = used[engine]
        # What it waited for the server's own threads counts; as clients come at a rate of their own,
        # only for the share of the time that is counted.
        others = sum(used[task][0] for task in used if task != engine)
        lost = max(0.0, waited - others * ran / (ran + waited + 1e-9))
        return max(now - before - lost, 1e-3)


def wait_until(claim, timeout: float, pause: float = 0.02) -> bool:
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if claim():
            return True
        time.sleep(pause)
    return claim()


def is_idle(pid: int, window: float = 0.3) -> bool:
    """Whether it uses next to no processor: nothing is being computed."""
    before = holdings(pid).cpu
    time.sleep(window)
    return holdings(pid).cpu - before <= 0.1 * window


def percentile(values: list, share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def median(values: list) -> float:
    return percentile(values, 0.5)
