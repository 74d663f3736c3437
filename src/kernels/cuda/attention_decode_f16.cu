// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/attention_decode.cuh"
#include "kernels/cuda/attention_decode.h"

namespace ingot::cuda {

AttentionStep launch_decode_f16(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  const int32_t dim = std::max(args.kv.key_dim, args.kv.value_dim);
  if (dim <= 64) return launch_decode_dim<KvType::kF16, 64>(args, tokens, stream);
  if (dim <= 128) return launch_decode_dim<KvType::kF16, 128>(args, tokens, stream);
  return launch_decode_dim<KvType::kF16, 256>(args, tokens, stream);
}

}  // namespace ingot::cuda
