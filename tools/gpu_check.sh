#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gpu_check.sh [BUILD]: all that needs a GPU, on the machine that has it: kernels against the
# processor's, whole models against their goldens, the memory checker, and speeds beside their floors.
# BUILD is a folder built with CUDA (default build/release) that has its tests. Prints one table.
set -uo pipefail
cd "$(dirname "$0")/.."
build="${1:-build/release}"
rows=()
failed=0

check() { # NAME COMMAND...
  local name="$1" log status=pass
  shift
  log="$(mktemp)"
  if ! "$@" >"$log" 2>&1; then
    status=FAIL
    failed=1
    tail -n 30 "$log"
  fi
  rows+=("$(printf '%-34s %s' "$name" "$status $(grep -oE '\[  PASSED  \] [0-9]+|[0-9]+ tests clean, .*' "$log" | tail -1)")")
  rm -f "$log"
}

if ! nvidia-smi -L >/dev/null 2>&1; then
  echo "gpu_check: no GPU here" >&2
  exit 1
fi
check "kernels against the CPU's" "$build/src/kernels/cuda/kernels_cuda_test"
check "attention against the CPU's" "$build/src/kernels/cuda/attention_cuda_test"
check "the device: copies, ceilings, faults" "$build/src/kernels/cuda/device_cuda_test"
check "R9: a lost device, no memory" python3 tests/reliability/devfault.py --binary "$build/ingot"
check "sampling against the CPU's" "$build/src/engine/engine_cuda_test"
check "an engine that samples on the GPU" env INGOT_TEST_DEVICE=cuda "$build/tests/engine_features_test" \
  --gtest_filter='Engine.*Device*:Engine.WhatIsNotSaid*'
for test in batch_invariance_test model_oracle_test quant_oracle_test gguf_oracle_test; do
  check "$test" env INGOT_TEST_DEVICE=cuda "$build/tests/$test"
done
if command -v compute-sanitizer >/dev/null; then
  kernels="$build/src/kernels/cuda/kernels_cuda_test"
  attention="$build/src/kernels/cuda/attention_cuda_test"
  sampling="$build/src/engine/engine_cuda_test"
  check "memcheck, kernels" tools/sanitize_cuda.py --tool memcheck "$kernels"
  check "memcheck, attention" tools/sanitize_cuda.py --tool memcheck "$attention"
  check "memcheck, sampling" tools/sanitize_cuda.py --tool memcheck "$sampling"
  check "racecheck, sampling" tools/sanitize_cuda.py --tool racecheck "$sampling"
  check "racecheck, attention" tools/sanitize_cuda.py --tool racecheck "$attention"
  # Without the library, whose kernels the tool does not survive (docs/gpu.md): an empty one is found
  # in its place, and our own kernels multiply all.
  empty="$(mktemp -d)"
  cc -shared -o "$empty/libcublasLt.so.13" -x c /dev/null
  check "racecheck, kernels" env LD_LIBRARY_PATH="$empty" \
    tools/sanitize_cuda.py --tool racecheck "$kernels"
  rm -r "$empty"
fi
for bench in attention_cuda linear_rows_cuda; do
  if [ -x "$build/bench/bench_$bench" ]; then
    "$build/bench/bench_$bench"
  fi
done
"$build/ingot" bench kernels --device cuda
for model in 8B:bf16 8B:fp8 8B:int8 8B:q4_k_m 70B:q4_k_m; do
  "$build/ingot" bench latency --random "$model" --device cuda -p 2048 -n 64 -b 1,8,64 \
    --max-num-batched-tokens 2048
done
printf '%s\n' "" "${rows[@]}"
exit "$failed"
