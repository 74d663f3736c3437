#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/serving.md: every flag of `ingot serve`, its variable and its default, as the
program itself tells them.

    tools/make_flag_table.py [--check] [build/release/ingot]
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOC = ROOT / "docs" / "serving.md"
BEGIN, END = "<!-- flags: begin -->\n", "<!-- flags: end -->\n"
ORDERS = {"help", "config", "print-config", "print-routes"}


def ask(binary: str, *flags: str) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith("INGOT_")}
    return subprocess.run([binary, "serve", *flags], check=True, capture_output=True, text=True,
                          env=env).stdout


def groups(help_text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """[(group, [(flags, description)])] of the text that --help prints."""
    found = []
    for line in help_text.splitlines():
        if re.fullmatch(r"[A-Z][\w ]*:", line):
            found.append((line[:-1], []))
        elif match := re.match(r"  (-\S+(?: [A-Z]+)?)\s*(.*)", line):
            found[-1][1].append([match[1], match[2]])
        elif found and found[-1][1] and line.startswith(" " * 30):
            found[-1][1][-1][1] += line.strip()
        elif line.startswith("Examples"):
            break
    return [(name, flags) for name, flags in found if flags]


def defaults(binary: str) -> dict[str, str]:
    lines = ask(binary, "--print-config").splitlines()
    matches = [re.fullmatch(r"(?:# )?([\w-]+): (.*)  # [\w ]+", line) for line in lines]
    return {match[1]: match[2] for match in matches}


def tables(binary: str) -> str:
    default = defaults(binary)
    text = ""
    for group, flags in groups(ask(binary, "--help")):
        text += f"\n### {group}\n\n| flag | variable | default | |\n| --- | --- | --- | --- |\n"
        for names, description in flags:
            key = re.findall(r"--([\w-]+)", names)[0]
            variable = "" if key in ORDERS - {"config"} else f"`INGOT_{key.upper().replace('-', '_')}`"
            value = default.get(key, "")
            value = "" if value in ('""', "[]", "") or key == "api-key" else f"`{value}`"
            shown = ", ".join(f"`{name}`" for name in names.replace(" ", ",", 0).split(","))
            text += f"| {shown} | {variable} | {value} | {description.replace('|', chr(92) + '|')} |\n"
    return text + "\n"


def main() -> int:
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    binary = arguments[0] if arguments else str(ROOT / "build" / "release" / "ingot")
    text = DOC.read_text()
    head, rest = text.split(BEGIN)
    wanted = head + BEGIN + tables(binary) + END + rest.split(END)[1]
    if "--check" in sys.argv[1:]:
        print("docs/serving.md is", "up to date" if wanted == text else "old: run tools/make_flag_table.py")
        return 0 if wanted == text else 1
    DOC.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
