#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unpack_oracle.sh [FOLDER]: unpacks the oracle's archives into build/oracle, where tests look for
# them. Without the folder (default: ../shared/oracle) it says so and the committed subset remains.
set -euo pipefail
cd "$(dirname "$0")/.."
source=${1:-../shared/oracle}
target=build/oracle

if [ ! -d "$source" ]; then
  echo "oracle: $source is not here; tests run the committed subset only"
  exit 0
fi
mkdir -p "$target"
for archive in "$source"/*.tar.xz; do
  stamp=$target/.$(basename "$archive").unpacked
  if [ -e "$stamp" ] && [ ! "$archive" -nt "$stamp" ]; then
    continue
  fi
  echo "oracle: unpacking $(basename "$archive")"
  tar -xJf "$archive" -C "$target" --no-same-owner
  touch "$stamp"
done
echo "oracle: $(find "$target" -mindepth 1 -maxdepth 1 -type d | wc -l) folders in $target"
