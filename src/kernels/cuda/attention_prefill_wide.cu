// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention_prefill.cuh"
#include "kernels/cuda/attention_prefill.h"

namespace ingot::cuda {

void launch_prefill_wide(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  if (args.kv.type == KvType::kF16)
    launch_prefill_type<KvType::kF16>(args, tokens, stream);
  else
    launch_prefill_type<KvType::kBF16>(args, tokens, stream);
}

}  // namespace ingot::cuda
