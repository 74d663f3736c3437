// SPDX-License-Identifier: Apache-2.0
// The AVX-512 sampling ops, entered in sampling_ops_list.cc.
#pragma once

#include "kernels/sampling_ops.h"

namespace ingot::cpu {

bool scan_logits_avx512(const float* x, size_t count, float* block_max);
WeightSums weigh_logits_avx512(const float* x, size_t count, float top, float scale, float* weights,
                               float* block_sums);
size_t collect_logits_avx512(const float* x, size_t count, const float* block_max, float floor,
                             uint32_t* positions);
void mask_logits_avx512(const float* x, size_t count, const uint32_t* mask, float* out);
LogitMoments logit_moments_avx512(const float* x, size_t count, float center);

}  // namespace ingot::cpu
