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


@pytest.mark.parametrize("name", FIGURES)
def test_figure(binary, name):
    flags = ["--binary", binary]
    if name == "badreq" and "asan" in Path(binary).parts:
        flags += ["--cases", "250", "--slack", "10"]
    done = subprocess.run(command(name, *flags), capture_output=True, text=True, timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines and all(LINE.fullmatch(line) for line in lines), done.stdout
