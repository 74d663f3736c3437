#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layers check: includes point down, and only to folders that the target declares.

Reads DEPENDS of every ingot_library() under src/, the #include lines of its sources, and the
include table of docs/ARCHITECTURE.md, and fails where they disagree or where folders form a cycle.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {".h", ".cc", ".cu", ".cuh"}
KEYWORDS = {"DEPENDS", "SOURCES", "TESTS", "LINK"}


def declared_dependencies(folder: Path) -> set[str]:
    text = re.sub(r"#.*", "", (folder / "CMakeLists.txt").read_text())
    call = re.search(rf"ingot_library\(\s*{folder.name}\b(.*?)\)", text, re.DOTALL)
    if call is None:
        raise SystemExit(f"layers: {folder}/CMakeLists.txt has no ingot_library({folder.name} ...)")
    found, is_inside = set(), False
    for word in call.group(1).split():
        if word in KEYWORDS:
            is_inside = word == "DEPENDS"
        elif is_inside:
            found.add(word)
    return found


def documented_dependencies() -> dict[str, set[str]]:
    """Rows `| folder | a, b |` of the table under the heading "Include table"."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    section = re.search(r"^## Include table$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    if section is None:
        raise SystemExit('layers: docs/ARCHITECTURE.md has no section "Include table"')
    table = {}
    for name, row in re.findall(r"^\| `(\w+)` \| ([^|]*) \|$", section.group(1), re.MULTILINE):
        table[name] = set(re.findall(r"\w+", row))
    return table


def include_errors(folder: Path, allowed: set[str], folders: set[str]) -> list[str]:
    errors = []
    for file in sorted(folder.rglob("*")):
        if file.suffix not in SOURCES:
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if include is None:
                continue
            where = f"{file.relative_to(ROOT)}:{number}"
            target = include.group(1).split("/")[0]
            if "/" not in include.group(1) or ".." in include.group(1):
                errors.append(f"{where}: include paths start at src/: {include.group(1)}")
            elif target in folders and target not in allowed:
                errors.append(f"{where}: {folder.name}/ does not declare {target}/")
    return errors


def find_cycle(depends: dict[str, set[str]]) -> str | None:
    done, path = set(), []

    def visit(name: str) -> str | None:
        if name in path:
            return " -> ".join(path[path.index(name):] + [name])
        if name in done:
            return None
        path.append(name)
        for other in sorted(depends.get(name, ())):
            if cycle := visit(other):
                return cycle
        path.pop()
        done.add(name)
        return None

    return next((cycle for name in sorted(depends) if (cycle := visit(name))), None)


def main() -> int:
    folders = {path.parent.name: path.parent for path in (ROOT / "src").glob("*/CMakeLists.txt")}
    depends = {name: declared_dependencies(path) for name, path in folders.items()}
    documented = documented_dependencies()
    errors = []
    for name, path in sorted(folders.items()):
        errors += include_errors(path, depends[name] | {name}, set(folders))
        extra = depends[name] - {"base"} - documented.get(name, set())
        if name not in documented:
            errors.append(f"docs/ARCHITECTURE.md: no row for {name}/ in the include table")
        elif extra:
            errors.append(f"src/{name}: depends on {', '.join(sorted(extra))}, not in the table")
    if cycle := find_cycle(depends):
        errors.append(f"cycle: {cycle}")
    for error in errors:
        print(error)
    print(f"layers: {len(folders)} folders, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
