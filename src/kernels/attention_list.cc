// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "kernels/attention.h"
#include "kernels/attention_parts.h"
#include "kernels/attention_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/attention.h"
#include "kernels/cpu/avx512/attention.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/attention.h"
#endif

namespace ingot {
namespace {

// The shared walk with one target's arithmetic and one cache type's rows.
template <const KvCodec& Codec, const AttentionMath& Math>
constexpr AttentionKernel kernel(const char* name, KvCacheType type, Target target) {
  return {name, type, target,
          [](const StoreKvArgs& args, const Exec& exec) { store_kv(Codec, args, exec); },
          [](const AttentionArgs& args, const Exec& exec) {
            attend({Codec, Math}, args, exec);
          }};
}
template <const KvCodec& Codec>
constexpr AttentionKernel scalar(const char* name, KvCacheType type) {
  return kernel<Codec, ref::kAttentionMath>(name, type, Target::kScalar);
}
#if INGOT_X86
template <const KvCodec& Codec>
constexpr AttentionKernel avx2(const char* name, KvCacheType type) {
  return kernel<Codec, cpu::kAttentionMath>(name, type, Target::kAvx2);
}
template <const KvCodec& Codec>
constexpr AttentionKernel avx512(const char* name, KvCacheType type) {
  return kernel<Codec, cpu::kAttentionMathAvx512>(name, type, Target::kAvx512);
}
#endif
#if INGOT_ARM
template <const KvCodec& Codec>
constexpr AttentionKernel neon(const char* name, KvCacheType type) {
  return kernel<Codec, cpu::kAttentionMath>(name, type, Target::kNeon);
}
#endif

// Best first within a type; each group closes with its scalar reference.
constexpr AttentionKernel kAttentionKernels[] = {
#if INGOT_X86
    avx512<cpu::kCodecF32Avx512>("attention_f32_avx512", KvCacheType::kF32),
    avx512<cpu::kCodecF16Avx512>("attention_f16_avx512", KvCacheType::kF16),
    avx512<cpu::kCodecBf16Avx512>("attention_bf16_avx512", KvCacheType::kBF16),
    avx512<cpu::kCodecFp8E4M3Avx512>("attention_fp8_e4m3_avx512", KvCacheType::kFp8E4M3),
    avx512<cpu::kCodecFp8E5M2Avx512>("attention_fp8_e5m2_avx512", KvCacheType::kFp8E5M2),
    avx512<cpu::kCodecInt8Avx512>("attention_int8_avx512", KvCacheType::kInt8),
    avx512<cpu::kCodecInt4Avx512>("attention_int4_avx512", KvCacheType::kInt4),
    avx2<cpu::kCodecF32>("attention_f32_avx2", KvCacheType::kF32),
    avx2<cpu::kCodecF16>("attention_f16_avx2", KvCacheType::kF16),
    avx2<cpu::kCodecBf16>("attention_bf16_avx2", KvCacheType::kBF16),
    avx2<cpu::kCodecFp8E4M3>("attention_fp8_e4m3_avx2", KvCacheType::kFp8E4M3),
    avx2<cpu::kCodecFp8E5M2>("attention_fp8_e5m2_avx2", KvCacheType::kFp8E5M2),
    avx2<cpu::kCodecInt8>("attention_int8_avx2", KvCacheType::kInt8),
    avx2<cpu::kCodecInt4>("attention_int4_avx2", KvCacheType::kInt4),
#endif
#if INGOT_ARM
    neon<cpu::kCodecF32>("attention_f32_neon", KvCacheType::kF32),
    neon<cpu::kCodecF16>("attention_f16_neon", KvCacheType::kF16),
    neon<cpu::kCodecBf16>("attention_bf16_neon", KvCacheType::kBF16),
    neon<cpu::kCodecFp8E4M3>("attention_fp8_e4m3_neon", KvCacheType::kFp8E4M3),
    neon<cpu::kCodecFp8E5M2>("attention_fp8_e5m2_neon", KvCacheType::kFp8E5M2),
    neon<cpu::kCodecInt8>("attention_int8_neon", KvCacheType::kInt8),
    neon<cpu::kCodecInt4>("attention_int4_neon", KvCacheType::kInt4),
#endif
    scalar<ref::kCodecF32>("attention_f32_ref", KvCacheType::kF32),
    scalar<ref::kCodecF16>("attention_f16_ref", KvCacheType::kF16),
    scalar<ref::kCodecBf16>("attention_bf16_ref", KvCacheType::kBF16),
    scalar<ref::kCodecFp8E4M3>("attention_fp8_e4m3_ref", KvCacheType::kFp8E4M3),
    scalar<ref::kCodecFp8E5M2>("attention_fp8_e5m2_ref", KvCacheType::kFp8E5M2),
    scalar<ref::kCodecInt8>("attention_int8_ref", KvCacheType::kInt8),
    scalar<ref::kCodecInt4>("attention_int4_ref", KvCacheType::kInt4),
};

}  // namespace

std::span<const AttentionKernel> attention_kernels() {
  return kAttentionKernels;
}

const AttentionKernel& choose_attention(KvCacheType type, TargetSet targets) {
  const auto* it = std::ranges::find_if(kAttentionKernels, [&](const AttentionKernel& kernel) {
    return kernel.type == type && targets.has(kernel.target);
  });
  INGOT_CHECK(it != std::end(kAttentionKernels));
  return *it;
}

}  // namespace ingot
