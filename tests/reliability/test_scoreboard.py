# SPDX-License-Identifier: Apache-2.0
"""The quick forms of the scoreboard; `make soak` runs the long ones."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from scoreboard import FIGURES, command  # noqa: E402

LINE = re.compile(r"R\d+ \S+ \S+ (pass|fail)")

# Figures with times in them: others may have used the machine meanwhile, so they get a second chance.
TIMED = {"streams", "hostile", "overload", "badreq", "faults"}


def measure(name, flags):
    return subprocess.run(command(name, *flags), capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("name", FIGURES)
def test_figure(binary, name):
    flags = ["--binary", binary]
    if name == "badreq" and "asan" in Path(binary).parts:
        flags += ["--cases", "250", "--slack", "10"]
    done = measure(name, flags)
    if done.returncode != 0 and name in TIMED:
        done = measure(name, flags)
    lines = done.stdout.splitlines()
    problems = [line.strip() for line in done.stderr.splitlines() if "FAILED" in line]
    assert done.returncode == 0, "; ".join(problems) + "\n" + done.stdout + done.stderr
    assert lines and all(LINE.fullmatch(line) for line in lines), done.stdout
