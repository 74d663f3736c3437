# SPDX-License-Identifier: Apache-2.0
"""All figures, one after the other: `scoreboard.py --binary build/release/ingot [--long]`. Prints their
lines as they come and, at the end, what failed."""

import subprocess
import sys
from pathlib import Path

from board import arguments, say

FOLDER = Path(__file__).resolve().parent
FIGURES = ["streams", "hostile", "overload", "disconnect", "starve", "soak", "drain", "watchdog", "devfault", "badreq",
           "faults", "auth", "canary", "tenant", "kill9", "nth"]


def command(name: str, *flags: str) -> list[str]:
    return [sys.executable, str(FOLDER / f"{name}.py"), *flags]


def main() -> int:
    options = arguments(__doc__)
    flags = ["--binary", options.binary, *(["--long"] if options.long else [])]
    failed = []
    for name in FIGURES:
        say(f"== {name}")
        if subprocess.run(command(name, *flags)).returncode != 0:
            failed.append(name)
    print(f"{len(FIGURES) - len(failed)} passed, {len(failed)} failed {' '.join(failed)}".rstrip())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
