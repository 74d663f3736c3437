// SPDX-License-Identifier: Apache-2.0
// The reference for float layouts, and for every layout that has no arithmetic of its own.
#include <vector>

#include "kernels/decode_rows.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {

void linear_decode(const LinearArgs& args, int64_t begin, int64_t end) {
  std::vector<float> weights(static_cast<size_t>(args.cols));
  const auto* x = reinterpret_cast<const float*>(args.x);
  for (int64_t row = begin; row < end; ++row) {
    decode_values(args.layout, args.weights + row * args.weight_row_bytes, args.cols,
                  weights.data());
    for (int64_t token = 0; token < args.tokens; ++token) {
      double sum = 0;
      for (int64_t col = 0; col < args.cols; ++col)
        sum += static_cast<double>(weights[static_cast<size_t>(col)]) *
               static_cast<double>(x[token * args.cols + col]);
      if (args.bias != nullptr) sum += static_cast<double>(args.bias[row]);
      args.y[token * args.y_stride + row] = static_cast<float>(sum);
    }
  }
}

}  // namespace ingot::ref
