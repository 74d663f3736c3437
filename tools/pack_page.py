#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pack_page.py WEB OUT_HTML OUT_POLICY [--depfile FILE]: the page in web/ as one HTML file.

Style sheets and scripts are put into the page; ES modules become functions in one script. The second
output is the Content-Security-Policy that allows exactly these, by their hashes, and nothing else: the
server sends it, and the page carries it too for whoever saves it.

Modules keep to a form that needs no JavaScript parser: imports are `import { a, b } from "./x.js";` at the
start of a line, exports stand before a function, class or const, and nothing is imported in a circle.
"""

import argparse
import base64
import hashlib
import re
import sys
from pathlib import Path

IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)
LICENSE = re.compile(r"^// SPDX-License-Identifier: .*\n")


class PackError(Exception):
    pass


def read(path: Path, used: list[Path]) -> str:
    used.append(path)
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".html" and (found := re.search(r"</(script|style)|<!--", text, re.IGNORECASE)):
        raise PackError(f"{path.name}: {found[0]} has a meaning of its own inside a page")
    return text


def bundle(folder: Path, entry: str, used: list[Path]) -> str:
    """All modules that `entry` needs, each once and after those it imports."""
    done: dict[str, set[str]] = {}  # module -> names it exports
    parts: list[str] = []

    def add(name: str, above: list[str]) -> None:
        if name in above:
            raise PackError(f"{name}.js: imported in a circle: {' -> '.join([*above, name])}")
        if name in done:
            return
        text = LICENSE.sub("", read(folder / f"{name}.js", used))
        for names, other in IMPORT.findall(text):
            add(other, [*above, name])
            missing = set(names.split(", ")) - done[other]
            if missing:
                raise PackError(f"{name}.js: {other}.js does not export {', '.join(sorted(missing))}")
        text = IMPORT.sub(lambda match: f"const {{ {match[1]} }} = modules.{match[2]};", text)
        exports = EXPORT.findall(text)
        text = EXPORT.sub("", text)
        if left := re.search(r"^(import|export)\b.*", text, re.MULTILINE):
            raise PackError(f"{name}.js: not a form that can be packed: {left[0]}")
        done[name] = set(exports)
        result = f"return {{ {', '.join(exports)} }};\n" if exports else ""
        parts.append(f"modules.{name} = (() => {{\n{text}{result}}})();\n")

    add(entry, [])
    return '"use strict";\n{\nconst modules = {};\n' + "\n".join(parts) + "}\n"


def hash_source(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def pack(folder: Path, used: list[Path]) -> tuple[str, str]:
    page = read(folder / "index.html", used)
    scripts: list[str] = []

    # One <style> for all sheets: one hash.
    sheet = re.compile(r'^<link rel="stylesheet" href="(\w+\.css)">\n', re.MULTILINE)
    style = "\n" + "".join(read(folder / name, used) for name in sheet.findall(page))
    page = sheet.sub("", page).replace("</head>", f"<style>{style}</style>\n</head>", 1)

    def script(match: re.Match) -> str:
        if match[1]:
            text = bundle(folder, match[2], used)
        else:
            text = read(folder / f"{match[2]}.js", used)
        scripts.append(hash_source("\n" + text))
        return f"<script>\n{text}</script>"

    page = re.sub(r'<script( type="module")? src="(\w+)\.js"></script>', script, page)
    if left := re.search(r'<(script|link)[^>]* (src|href)="(?!data:)[^"]*"', page):
        raise PackError(f"index.html: would be fetched: {left[0]}")

    policy = "; ".join([
        "default-src 'none'", f"script-src {' '.join(scripts)}", f"style-src {hash_source(style)}",
        "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
    ])
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    page = page.replace('<meta name="viewport"', meta + '<meta name="viewport"', 1)
    return page, policy + "; frame-ancestors 'none'"  # which only a header may say


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("policy", type=Path)
    parser.add_argument("--depfile", type=Path, help="for ninja: what the page was made from")
    args = parser.parse_args()
    used: list[Path] = []
    try:
        page, policy = pack(args.folder, used)
    except (OSError, PackError) as error:
        print(f"pack_page: {error}", file=sys.stderr)
        return 1
    args.page.write_text(page, encoding="utf-8")
    args.policy.write_text(policy, encoding="utf-8")
    if args.depfile:
        args.depfile.write_text(f"{args.page}: {' '.join(str(path.resolve()) for path in used)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
