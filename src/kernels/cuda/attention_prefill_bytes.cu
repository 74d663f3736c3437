// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention_prefill.cuh"
#include "kernels/cuda/attention_prefill.h"

namespace ingot::cuda {

void launch_prefill_bytes(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  if (args.kv.type == KvType::kFp8E4M3)
    launch_prefill_type<KvType::kFp8E4M3>(args, tokens, stream);
  else if (args.kv.type == KvType::kFp8E5M2)
    launch_prefill_type<KvType::kFp8E5M2>(args, tokens, stream);
  else
    launch_prefill_type<KvType::kInt8>(args, tokens, stream);
}

}  // namespace ingot::cuda
