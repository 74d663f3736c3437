// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/attention_prefill.h"

namespace ingot::cuda {

void launch_prefill(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  if (is_for_prefill_sm90(args))
    launch_prefill_sm90(args, tokens, stream);
  else if (args.kv.type == KvType::kF16 || args.kv.type == KvType::kBF16)
    launch_prefill_wide(args, tokens, stream);
  else
    launch_prefill_bytes(args, tokens, stream);
}

}  // namespace ingot::cuda
