// SPDX-License-Identifier: Apache-2.0
// The prefill kernels of 16-bit and of 8-bit caches, in files of their own: together they take long
// to compile. On Hopper 16-bit caches have a faster one.
#pragma once

#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {

void launch_prefill_wide(const AttentionArgs& args, TokenRange tokens, Stream stream);
void launch_prefill_bytes(const AttentionArgs& args, TokenRange tokens, Stream stream);
bool is_for_prefill_sm90(const AttentionArgs& args);
void launch_prefill_sm90(const AttentionArgs& args, TokenRange tokens, Stream stream);

}  // namespace ingot::cuda
