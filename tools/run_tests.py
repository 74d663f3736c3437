#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All tests, stage by stage: build and run the release tests, the sanitizer tests and fuzzers, the
NEON kernels under an emulator and the end-to-end tests; or only the stages named as arguments. Goes
on after a failing stage, but with none that needs what a failed one builds; closes with a table and
`N passed, N failed`.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORES = str(len(os.sched_getaffinity(0)))


@dataclass
class Stage:
    name: str
    commands: list[list[str]]
    needs: tuple[str, ...] = ()  # programs without which the stage is skipped
    after: tuple[str, ...] = ()  # stages that build what this one runs
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    failures: list[str] = field(default_factory=list)


def ctest(preset: str, *options: str) -> list[str]:
    return ["ctest", "--test-dir", f"build/{preset}", "--output-on-failure", *options]


# What everything built takes, and the tests' files beside it.
NEEDED_BYTES = 7_000_000_000

# Of the GPU's kernels one generation is built here, the one that has code of its own.
ONE_GPU = "-DCMAKE_CUDA_ARCHITECTURES=90a-real"


def build(preset: str, *targets: str) -> list[list[str]]:
    return [["cmake", "--preset", preset, "--log-level=WARNING", "--no-warn-unused-cli", ONE_GPU],
            ["ninja", "-C", f"build/{preset}", *targets]]


def pytest(*options: str) -> list[str]:
    # A test's files are kept only where it failed: all of them are a gigabyte in three runs.
    return [".venv/bin/python", "-m", "pytest", "-q", "-ra", "-o", "tmp_path_retention_policy=failed",
            *options]


RELEASE = "build release"
SANITIZERS = "build sanitizers"
STAGES = [
    # Most unit tests are built once, with sanitizers (cmake/ingot.cmake).
    Stage(RELEASE, [*build("release", "ingot", "release_tests"),
                    ["tools/unpack_oracle.sh", "build/oracle"]]),
    Stage("numeric tests", [ctest("release", "-j", CORES, "-L", "release")], after=(RELEASE,)),
    # Each uses all cores.
    Stage("model tests", [ctest("release", "-L", "model|slow")], after=(RELEASE,)),
    Stage(SANITIZERS, build("asan")),
    Stage("tests under sanitizers", [ctest("asan", "-j", CORES, "-LE", "fuzz|model|slow")],
          after=(SANITIZERS,)),
    Stage("fuzzers", [ctest("asan", "-j", CORES, "-L", "fuzz")], after=(SANITIZERS,)),
    Stage("NEON under qemu", [*build("neon"), ctest("neon", "-j", CORES)],
          needs=("aarch64-linux-gnu-g++", "qemu-aarch64")),
    # Commands do not wait for clocks, so several run at once; servers are timed and run alone.
    Stage("end to end: commands", [pytest("tests/cli", "-n", CORES)], after=(RELEASE,)),
    Stage("end to end: servers", [pytest("tests", "--ignore", "tests/cli")], after=(RELEASE,)),
    Stage("hostile input, sanitized", [pytest("tests/cli/test_hostile.py", "tests/cli/test_streams.py",
                                              "tests/server/test_limits.py",
                                              "tests/reliability/test_scoreboard.py::test_figure[badreq]",
                                              "--binary", str(ROOT / "build" / "asan" / "ingot"))],
          after=(SANITIZERS,)),
]


def count(stage: Stage, output: str, is_ok: bool) -> None:
    """Single tests where the runner names them, else whole programs."""
    if stage.commands[-1][0] == "ctest":
        log = ROOT / stage.commands[-1][2] / "Testing" / "Temporary" / "LastTest.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        programs = re.search(r"(\d+) tests failed out of (\d+)", output)
        stage.passed = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) tests?", text, re.M)))
        # Programs that are no GoogleTest (fuzzers, layers) count as one test each.
        blocks = re.split(r"^\d+/\d+ Testing: ", text, flags=re.M)
        stage.passed += sum("Test Passed." in b and "[==========]" not in b for b in blocks)
        stage.skipped = sum(map(int, re.findall(r"^\[  SKIPPED \] (\d+) tests?", text, re.M)))
        single = set(re.findall(r"^\[  FAILED  \] (\w+[./][\w./]+)", text, re.M))
        stage.failures = sorted(single)
        stage.failed = max(len(single), int(programs.group(1)) if programs else 0)
    elif "pytest" in stage.commands[-1]:
        for word in ("passed", "failed", "skipped"):
            numbers = re.findall(rf"(\d+) {word}", output)
            setattr(stage, word, int(numbers[-1]) if numbers else 0)
        stage.failures = re.findall(r"^(?:FAILED|ERROR) (.+)", output, re.M)
        errors = re.findall(r"(\d+) errors?", output)
        stage.failed += int(errors[-1]) if errors else 0
    if not is_ok and stage.failed == 0:
        stage.failed = 1


def run(stage: Stage) -> None:
    print(f"\n== {stage.name}", flush=True)
    if missing := [program for program in stage.needs if shutil.which(program) is None]:
        print(f"skipped: this machine has no {' and no '.join(missing)}")
        stage.skipped = 1
        return
    start = time.monotonic()
    is_ok, output = True, ""
    for command in stage.commands:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            output += line
            sys.stdout.write(line)
            sys.stdout.flush()
        if process.wait() != 0:
            is_ok = False
            break
    stage.seconds = time.monotonic() - start
    count(stage, output, is_ok)


def check_disk(stages: list[Stage]) -> None:
    """A disk that fills up on the way leaves a hundred errors that name everything but the cause."""
    if len(stages) < len(STAGES):
        return
    built = sum(f.lstat().st_size for f in (ROOT / "build").rglob("*") if f.is_file())
    needed, free = NEEDED_BYTES - built, shutil.disk_usage(ROOT).free
    if free < needed:
        sys.exit(f"make test needs {needed / 1e9:.1f} GB of disk for {ROOT / 'build'} and the tests' files, but "
                 f"{free / 1e9:.1f} GB are free: free some, or run single stages (tools/run_tests.py NAME ...)")


def main() -> int:
    named = sys.argv[1:]
    if unknown := set(named) - {stage.name for stage in STAGES}:
        sys.exit(f"no stage {unknown}; there are: {', '.join(stage.name for stage in STAGES)}")
    stages = [stage for stage in STAGES if not named or stage.name in named]
    check_disk(stages)
    broken = set()
    for stage in stages:
        if missing := broken & set(stage.after):
            print(f"\n== {stage.name}\nnot run: {', '.join(missing)} failed")
            continue
        run(stage)
        if stage.failed:
            broken.add(stage.name)
    print("\n== summary")
    for stage in stages:
        print(f"{stage.name:<24} {stage.passed:>6} passed {stage.failed:>4} failed "
              f"{stage.skipped:>4} skipped {stage.seconds:>7.0f} s")
        for name in stage.failures:
            print(f"    {name}")
    passed, failed = sum(s.passed for s in stages), sum(s.failed for s in stages)
    skipped = sum(s.skipped for s in stages)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
