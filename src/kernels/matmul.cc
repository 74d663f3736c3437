// SPDX-License-Identifier: Apache-2.0
#include "kernels/matmul.h"

#include "kernels/linear.h"

namespace ingot {

Status multiply_by_transposed(const Exec& exec, TargetSet targets, const MatMulArgs& args) {
  WeightMemory memory;
  const std::span b(args.b, static_cast<size_t>(args.n * args.k));
  const TensorView view{Layout::kF32,
                        Shape{static_cast<uint64_t>(args.n), static_cast<uint64_t>(args.k)},
                        std::as_bytes(b)};
  INGOT_TRY(const Linear linear, Linear::bind(view, {}, targets, memory, exec));
  Activations a(targets);
  a.set(args.a, args.m, args.k);
  linear.run(exec, a, args.c, args.c_stride);
  return Status::ok();
}

}  // namespace ingot
