# SPDX-License-Identifier: Apache-2.0
"""R16: kill -9 of a command that writes a model, at random moments and before every call that
changes the disk. The final path is absent, the old file, or byte for byte the complete new one; the
next run finishes what was begun."""

import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from board import arguments, finish, say, verdict
from writers import LARGE, SMALL, digest, fresh, leftovers, run


def check(folder: Path, writer, truth: str, old: str, what: str) -> list[str]:
    found = digest(folder / writer.output)
    problems = []
    if found not in ("", truth, old):
        problems.append(f"{what}: {writer.output} is neither whole nor absent")
    if rest := leftovers(folder, writer.output):
        problems.append(f"{what}: left {rest}")
    return problems


def finishes(folder: Path, writer, binary: str, truth: str, what: str) -> list[str]:
    done = run(writer.command(binary, folder))
    if done.returncode != 0:
        return [f"{what}: the next run failed: {done.stderr.strip()}"]
    if digest(folder / writer.output) != truth or os.listdir(folder) != [writer.output]:
        return [f"{what}: the next run left {os.listdir(folder)}"]
    return []


def random_kills(binary: str, work: Path, count: int, rng: random.Random) -> list[str]:
    problems, resumed = [], 0
    for number, writer in enumerate(LARGE):
        folder = fresh(work / f"truth{number}")
        begin = time.monotonic()
        done = run(writer.command(binary, folder))
        assert done.returncode == 0, done.stderr
        seconds, truth = time.monotonic() - begin, digest(folder / writer.output)
        folder = fresh(work / f"random{number}")
        for kill in range(count // len(LARGE)):
            process = subprocess.Popen(writer.command(binary, folder), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            delay = rng.uniform(0, 1.1 * seconds)
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            what = f"{writer.name}, killed after {delay:.3f} s"
            problems += check(folder, writer, truth, "", what)
            resumed += (folder / f"{writer.output}.ingot-partial").exists()
            if kill % 3 == 2:  # else the next run goes on with what is there
                problems += finishes(folder, writer, binary, truth, what)
                fresh(folder)
        problems += finishes(folder, writer, binary, truth, f"{writer.name}, at the end")
    say(f"random kills: {count}, {resumed} of them left a part to go on with")
    return problems


def kills_at_calls(binary: str, shim: str, work: Path, step: int) -> tuple[int, list[str]]:
    problems, tried = [], 0
    for number, writer in enumerate(SMALL):
        folder = fresh(work / f"old{number}")
        assert run(writer.command(binary, folder)).returncode == 0
        truth = digest(folder / writer.output)
        for has_old in (False, True):
            at = 1
            while True:
                folder = fresh(work / f"call{number}")
                old = ""
                if has_old:  # what an earlier version left there
                    assert run(writer.command(binary, folder)).returncode == 0
                    old = truth
                environment = {**os.environ, "LD_PRELOAD": shim, "SHIM_AT": str(at), "SHIM_MODE": "kill",
                               "SHIM_FOLDER": str(folder)}
                done = run(writer.command(binary, folder), env=environment)
                if done.returncode == 0:
                    break
                what = f"{writer.name}, killed before call {at}{', over an old one' if has_old else ''}"
                if done.returncode != -signal.SIGKILL:
                    problems.append(f"{what}: ended with {done.returncode}: {done.stderr.strip()}")
                problems += check(folder, writer, truth, old, what)
                if has_old and digest(folder / writer.output) == "":
                    problems.append(f"{what}: the old output is gone")
                problems += finishes(folder, writer, binary, truth, what)
                tried += 1
                at += step if at > 12 else 1
    return tried, problems


def main() -> None:
    options = arguments(__doc__, kills=(40, "at random moments"), shim=("", "libfault.so"))
    kills = 1000 if options.long else options.kills
    shim = options.shim or str(Path(options.binary).parent / "tests" / "libfault.so")
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="ingot-kill-") as name:
        problems = random_kills(options.binary, Path(name), kills, rng)
        tried, more = (0, []) if not Path(shim).exists() else kills_at_calls(
            options.binary, shim, Path(name), 1 if options.long else 5)
    problems += more
    for problem in problems[:20]:
        say("FAILED", problem)
    say(f"seed {options.seed}; {tried} kills at calls")
    finish(verdict("R16", f"{len(problems)}", f"bad-of-{kills}+{tried}", not problems and tried > 0))


if __name__ == "__main__":
    main()
