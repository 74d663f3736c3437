// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/attention_decode.cuh"
#include "kernels/cuda/attention_decode.h"

namespace ingot::cuda {

AttentionStep launch_decode_int8(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  if (std::max(args.kv.key_dim, args.kv.value_dim) <= 128)
    return launch_decode_dim<KvType::kInt8, 128>(args, tokens, stream);
  return launch_decode_dim<KvType::kInt8, 256>(args, tokens, stream);
}

}  // namespace ingot::cuda
