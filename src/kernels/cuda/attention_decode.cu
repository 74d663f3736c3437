// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention_decode.h"
#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {

AttentionStep launch_decode(const AttentionArgs& args, TokenRange tokens, Stream stream) {
  switch (args.kv.type) {
    case KvType::kF16:
      return launch_decode_f16(args, tokens, stream);
    case KvType::kBF16:
      return launch_decode_bf16(args, tokens, stream);
    case KvType::kInt8:
      return launch_decode_int8(args, tokens, stream);
    case KvType::kFp8E4M3:
    case KvType::kFp8E5M2:
      return launch_decode_fp8(args, tokens, stream);
    default:
      return {};  // is_for_tensor_cores() said no
  }
}

}  // namespace ingot::cuda
