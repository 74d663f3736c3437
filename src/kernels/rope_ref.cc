// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_ref.h"

namespace ingot::ref {

void rope(const RopeArgs& args, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) {
    const float* cos = args.cos + token * args.pairs;
    const float* sin = args.sin + token * args.pairs;
    for (int64_t head = 0; head < args.heads; ++head) {
      float* x = args.x + token * args.token_stride + head * args.head_dim;
      for (int64_t i = 0; i < args.pairs; ++i) {
        const bool is_halves = args.pairing == RopePairing::kHalves;
        float& a = x[is_halves ? i : 2 * i];
        float& b = x[is_halves ? i + args.pairs : 2 * i + 1];
        const float turned = a * cos[i] - b * sin[i];
        b = a * sin[i] + b * cos[i];
        a = turned;
      }
    }
  }
}

}  // namespace ingot::ref
