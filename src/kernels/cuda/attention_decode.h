// SPDX-License-Identifier: Apache-2.0
// The decode kernels of each cache type, a file a type: together they take long to compile.
#pragma once

#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {

AttentionStep launch_decode_f16(const AttentionArgs& args, TokenRange tokens, Stream stream);
AttentionStep launch_decode_bf16(const AttentionArgs& args, TokenRange tokens, Stream stream);
AttentionStep launch_decode_fp8(const AttentionArgs& args, TokenRange tokens, Stream stream);
AttentionStep launch_decode_int8(const AttentionArgs& args, TokenRange tokens, Stream stream);

}  // namespace ingot::cuda
