// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/cuda/attention_decode.cuh"
#include "kernels/cuda/attention_decode.h"

namespace ingot::cuda {
namespace {

template <KvType kType>
AttentionStep launch(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  if (std::max(args.kv.key_dim, args.kv.value_dim) <= 128)
    return launch_decode_dim<kType, 128>(args, tokens, stream);
  return launch_decode_dim<kType, 256>(args, tokens, stream);
}

}  // namespace

AttentionStep launch_decode_fp8(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  if (args.kv.type == KvType::kFp8E4M3) return launch<KvType::kFp8E4M3>(args, tokens, stream);
  return launch<KvType::kFp8E5M2>(args, tokens, stream);
}

}  // namespace ingot::cuda
