#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ingot beside llama.cpp and ik_llama.cpp on the same files, runs interleaved: see vs_peers.py --help.
#   bench/vs_peers.sh --ingot build/release/ingot --llama-bench PATH --ik-bench PATH --models DIR
set -euo pipefail
exec python3 "$(dirname "$0")/vs_peers.py" "$@"
