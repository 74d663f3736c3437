// SPDX-License-Identifier: Apache-2.0
// Rows of the KV cache, scored and mixed as they lie: 1 to 6 instructions per 16 values to widen
// them, against one multiply-add for each query that shares the read. Rows are written as AVX2
// writes them. Show it with `ingot bench kernels attention`.
#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/avx2/attention.h"
#include "kernels/cpu/avx512/attention.h"
#include "kernels/cpu/avx512/attention_rows.h"

namespace ingot::cpu {
namespace {

void int8_factors(const std::byte* rows, int64_t count, int64_t dim, float* to) {
  for (int64_t i = 0; i < count; ++i)
    to[i] = Int8Row::factor(rows + i * Int8Row::bytes(dim), dim);
}

template <class Row>
constexpr KvRows rows(void (*store)(const float*, int64_t, std::byte*)) {
  return {.store = store,
          .load = load_rows<Avx512, Row>,
          .score = score_runs<Avx512, Row>,
          .mix = mix_runs<Avx512, Row>};
}
constexpr KvRows with_unit(KvRows of, float unit) {
  of.unit = unit;
  return of;
}
constexpr KvRows with_factors(KvRows of, decltype(KvRows::factors) factors) {
  of.factors = factors;
  return of;
}
constexpr KvCodec both(KvRows of, bool rotates_keys) {
  return {of, of, rotates_keys};
}
constexpr KvRows kFp8E4M3 =
    with_unit(rows<Fp8E4M3Row>(store_fp8_e4m3_avx2), Fp8E4M3Elements::kUnit);

}  // namespace

constinit const KvCodec kCodecF32Avx512 = both(rows<F32Row>(store_f32_avx2), false);
constinit const KvCodec kCodecF16Avx512 = both(rows<F16Row>(store_f16_avx2), false);
constinit const KvCodec kCodecBf16Avx512 = both(rows<BF16Row>(store_bf16_avx2), false);
constinit const KvCodec kCodecFp8E4M3Avx512 = both(kFp8E4M3, true);
constinit const KvCodec kCodecFp8E5M2Avx512 = {kFp8E4M3, rows<Fp8E5M2Row>(store_fp8_e5m2_avx2),
                                               true};
constinit const KvCodec kCodecInt8Avx512 =
    both(with_factors(rows<Int8Row>(store_int8_avx2), int8_factors), false);
constinit const KvCodec kCodecInt4Avx512 = both(rows<Int4Row>(store_int4_avx2), true);

}  // namespace ingot::cpu
