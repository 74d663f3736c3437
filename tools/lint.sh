#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint.sh [BRANCH]: format, clang-tidy and layers; with a branch, only files changed since it.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${1:-}" ]; then
  mapfile -t files < <(git diff --name-only --diff-filter=d "$1" -- '*.cc' '*.h')
else
  mapfile -t files < <(git ls-files -- '*.cc' '*.h')
fi
status=0

echo "lint: clang-format on ${#files[@]} files"
if [ "${#files[@]}" -gt 0 ]; then
  clang-format --dry-run --Werror "${files[@]}" || status=1
fi

# build/lint is configured, not built: clang-tidy needs a command for each source (INGOT_UNITY=OFF).
# Headers are checked through the sources that include them; sources outside this build (fuzzers,
# other targets) have no compile command.
mapfile -t sources < <(python3 - "${files[@]}" <<'EOF'
import json, os, sys
known = {entry["file"] for entry in json.load(open("build/lint/compile_commands.json"))}
for name in sys.argv[1:]:
    if name.endswith(".cc") and os.path.abspath(name) in known:
        print(name)
EOF
)
echo "lint: clang-tidy on ${#sources[@]} files"
if [ "${#sources[@]}" -gt 0 ]; then
  printf '%s\0' "${sources[@]}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/lint --quiet 2>/dev/null || status=1
fi

python3 tools/check_layers.py || status=1
if [ "$status" -eq 0 ]; then
  echo "lint: clean"
else
  echo "lint: see above" >&2
fi
exit "$status"
