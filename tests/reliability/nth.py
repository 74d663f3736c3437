# SPDX-License-Identifier: Apache-2.0
"""R17: the Nth call that writes, syncs, renames, maps or reserves fails, n = 1, 2, 3 ... until the
command succeeds; once by itself, once with every call after it. Non-zero exit with a message,
inputs and final path untouched; then a disk of 16 MiB."""

import os
import shutil
import tempfile
from pathlib import Path

from board import arguments, finish, say, verdict
from writers import LARGE, MODELS, SMALL, digest, fresh, leftovers, run

MODES = ["enospc", "eio", "short"]


def sweep(binary: str, shim: str, work: Path, most: int) -> tuple[int, list[str]]:
    problems, tried = [], 0
    for number, writer in enumerate(SMALL):
        folder = fresh(work / f"truth{number}")
        count_file = work / "count"
        environment = {**os.environ, "LD_PRELOAD": shim, "SHIM_COUNT": str(count_file),
                       "SHIM_FOLDER": str(folder)}
        assert run(writer.command(binary, folder), env=environment).returncode == 0
        truth, total = digest(folder / writer.output), int(count_file.read_text())
        points = range(1, total + 1)
        if len(points) > most:  # the first, the last, and some between
            points = sorted({*points[:most // 3], *points[-most // 3:], *points[::max(1, 3 * total // most)]})
        for mode in MODES:
            for sticky in "01":
                for at in points:
                    folder = fresh(work / f"fault{number}")
                    environment = {**os.environ, "LD_PRELOAD": shim, "SHIM_AT": str(at),
                                   "SHIM_MODE": mode, "SHIM_STICKY": sticky, "SHIM_FOLDER": str(folder)}
                    done = run(writer.command(binary, folder), env=environment)
                    tried += 1
                    what = f"{writer.name}, {mode} at call {at} of {total}{' and after' * (sticky == '1')}"
                    problems += judge(folder, writer, done, truth, mode, what)
    return tried, problems


def judge(folder: Path, writer, done, truth: str, mode: str, what: str) -> list[str]:
    problems = []
    found = digest(folder / writer.output)
    if done.returncode == 0:
        # A short write is no error, and a folder's name may be synced twice: then all must be there.
        if found != truth:
            problems.append(f"{what}: success, but the output is not whole")
    elif done.returncode < 0:
        problems.append(f"{what}: died of signal {-done.returncode}")
    else:
        if not done.stderr.startswith("ingot: "):
            problems.append(f"{what}: no message: {done.stderr[:200]}")
        if found not in ("", truth):
            problems.append(f"{what}: a bad file was left at the final path")
    if rest := leftovers(folder, writer.output):
        problems.append(f"{what}: left {rest}")
    return problems


def small_disk(binary: str, work: Path) -> tuple[bool, list[str]]:
    """A tmpfs of 16 MiB, in a namespace of its own where this user may not mount."""
    disk = fresh(work / "disk")
    writer = LARGE[0]
    command = " ".join(f"'{word}'" for word in writer.command(binary, disk))
    script = f"mount -t tmpfs -o size=16m none {disk} && {{ {command}; echo code $?; ls -A {disk}; }}"
    done = run(["unshare", "-rm", "sh", "-c", script]) if shutil.which("unshare") else None
    if done is None or "code" not in done.stdout:
        return False, []
    lines = done.stdout.split("\n")
    begin = next(i for i, line in enumerate(lines) if line.startswith("code"))
    problems = []
    if lines[begin] == "code 0":
        problems.append("a disk of 16 MiB: the command says that it worked")
    if "free" not in done.stderr:
        problems.append(f"a disk of 16 MiB: no clear message: {done.stderr}")
    if any(line.strip() for line in lines[begin + 1:]):
        problems.append(f"a disk of 16 MiB: left {lines[begin + 1:]}")
    say(f"a disk of 16 MiB: {done.stderr.strip()}")
    return True, problems


def main() -> None:
    options = arguments(__doc__, points=(45, "calls tried for each kind of fault"), shim=("", "libfault.so"))
    shim = options.shim or str(Path(options.binary).parent / "tests" / "libfault.so")
    inputs = digest(MODELS)
    with tempfile.TemporaryDirectory(prefix="ingot-nth-") as name:
        work = Path(name)
        tried, problems = sweep(options.binary, shim, work, 1 << 30 if options.long else options.points)
        could, more = small_disk(options.binary, work)
    problems += more
    if not could:
        say("note: no tmpfs can be mounted here; the small disk was not tried")
    if digest(MODELS) != inputs:
        problems.append("an input was changed")
    for problem in problems[:20]:
        say("FAILED", problem)
    finish(verdict("R17", f"{tried - len(problems)}/{tried}", "faults", not problems and tried > 0))


if __name__ == "__main__":
    main()
