#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BINARY SECONDS [libFuzzer options]: runs one fuzz target from its seeds in tests/corpus/.
# New inputs go beside the binary, under build/; the source tree is only read.
set -eu
if [ $# -lt 2 ]; then
  echo "usage: $0 BINARY SECONDS [libFuzzer options]" >&2
  exit 2
fi
binary=$1
seconds=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
name=$(basename "$binary")
seeds=$root/tests/corpus/${name#fuzz_}
found=$(dirname "$binary")/found/$name
mkdir -p "$found"
if [ ! -d "$seeds" ]; then
  seeds=
fi
export ASAN_OPTIONS="allocator_may_return_null=1:${ASAN_OPTIONS:-}"
exec "$binary" -max_total_time="$seconds" -rss_limit_mb=512 -timeout=5 -malloc_limit_mb=256 \
  -print_final_stats=1 -verbosity=0 -artifact_prefix="$found-" "$@" "$found" ${seeds:+"$seeds"}
