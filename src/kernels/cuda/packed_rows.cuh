// SPDX-License-Identifier: Apache-2.0
// Eight neighbouring columns of a token, packed. A warp has 256 columns, a lane eight: a group of
// 32 is four lanes, a span of 128 sixteen, a group of 256 the warp.
#pragma once

#include "kernels/cuda/byte_rows.cuh"
#include "kernels/cuda/halves.cuh"
#include "kernels/cuda/input_rounding.cuh"

namespace ingot::cuda {

inline constexpr int kWarpColumns = 256;

__device__ inline void load_8(const float* from, float (&to)[8]) {
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}
__device__ inline void store_8(float* to, const float (&from)[8]) {
  reinterpret_cast<float4*>(to)[0] = make_float4(from[0], from[1], from[2], from[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(from[4], from[5], from[6], from[7]);
}

// Scales of rounded rows, whose columns the lanes of a block of threads hold: all are taken first
// where a row has one scale, spans are found by their lanes.
template <PackedRows::Kind kKind>
class RowRounding {
  static constexpr bool kIsInt8 = kKind == PackedRows::Kind::kInt8;

 public:
  using Letters = ClusterLetters<kIsInt8 ? 3 : 1>;

  __device__ explicit RowRounding(const InputQuant& quant)
      : quant_(quant), in_spans_(!kIsInt8 && quant.block == kSpan) {}

  __device__ void take(const float (&values)[8]) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
      range_.take(values[i]);
  }
  // All threads of the block are done with take(), or all of the cluster; once.
  __device__ void close() {
    if (!in_spans_)
      row_ = range_.template of_block<kIsInt8>(quant_).template scale<kIsInt8>(quant_);
  }
  __device__ void close_cluster(Letters& letters) {
    row_ = range_.template of_block<kIsInt8>(quant_)
               .template of_cluster<kIsInt8>(letters)
               .template scale<kIsInt8>(quant_);
  }
  // After close_cluster().
  __device__ const Scale& row() const {
    return row_;
  }
  // All lanes of a warp.
  __device__ Scale scale_of(const float (&values)[8]) const {
    if (!in_spans_) return row_;
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      bits = max(bits, magnitude_bits(values[i]));
    return input_scale<kIsInt8>(quant_, warp_reduce(bits, Max{}, kSpan / 8), 0, 0);
  }

 private:
  const InputQuant& quant_;
  bool in_spans_;
  InputRange range_;
  Scale row_{};
};

// Quotients by one scale that are what x / scale is, for all that codes distinguish: those beyond
// 512 become 512. A division for each value would take three times the instructions, with branches
// between them. Both numbers are first multiplied by a power of two, so that no rest is too small
// for a float; a second step from a quotient that is at most one unit off, with the nearest
// inverse, gives the nearest quotient (Markstein).
class Quotients {
 public:
  __device__ explicit Quotients(float scale)
      : power_(scale < 0x1p-64f  ? 0x1p64f
               : scale > 0x1p64f ? 0x1p-64f
                                 : 1.0f),
        scale_(scale * power_),
        inverse_(1.0f / scale_),
        most_(512.0f * scale_) {}

  __device__ float operator()(float value) const {
    const float x = fminf(fmaxf(value * power_, -most_), most_);
    float quotient = __fmul_rn(x, inverse_);
#pragma unroll
    for (int i = 0; i < 2; ++i)
      quotient = __fmaf_rn(__fmaf_rn(-quotient, scale_, x), inverse_, quotient);
    return copysignf(quotient, value);  // a zero's too
  }

 private:
  float power_;
  float scale_;
  float inverse_;
  float most_;
};

// Codes of two neighbours, given their quotients by the scale.
template <PackedRows::Kind kKind>
__device__ inline uint32_t two_codes(float first, float second, float zero) {
  if constexpr (kKind == PackedRows::Kind::kInt8) {
    const auto code = [&](float quotient) {
      const float whole = fminf(fmaxf(rintf(quotient) + zero, -128.0f), 127.0f);
      return static_cast<uint32_t>(static_cast<int>(whole)) & 0xFF;
    };
    return code(first) | (code(second) << 8);
  } else {
    const __nv_fp8x2_storage_t codes =
        __nv_cvt_float2_to_fp8x2(make_float2(first, second), __NV_SATFINITE, __NV_E4M3);
    if constexpr (kKind == PackedRows::Kind::kE4m3) return codes;
    const __half2_raw halves = __nv_cvt_fp8x2_to_halfraw2(codes, __NV_E4M3);
    return static_cast<uint32_t>(halves.x) | (static_cast<uint32_t>(halves.y) << 16);
  }
}

template <PackedRows::Kind kKind>
__device__ inline void pack_codes(const float (&values)[8], const Scale& scale, int cols,
                                  int64_t token, int block, const PackedRows& out) {
  const int lane = threadIdx.x % 32;
  const int col = block * kWarpColumns + lane * 8;
  if (col == 0) write_row_scale(out.scales, token, scale);
  if (out.scales.spans > 0 && lane % (kSpan / 8) == 0 && col < cols)
    write_span_scale<kKind>(out.scales, token, col / kSpan, scale);
  if (col >= out.stride) return;
  const bool has_codes = scale.is_usable && col < cols;
  const Quotients quotients(scale.scale);
  uint32_t twos[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t two =
        two_codes<kKind>(quotients(values[2 * i]), quotients(values[2 * i + 1]), scale.zero);
    twos[i] = has_codes ? two : 0;
  }
  constexpr int kBits = code_bits(kKind);
  auto* const to = static_cast<uint8_t*>(out.values) + (token * out.stride + col) * (kBits / 8);
  if constexpr (kBits == 16) {
    *reinterpret_cast<uint4*>(to) = make_uint4(twos[0], twos[1], twos[2], twos[3]);
  } else {
    *reinterpret_cast<uint2*>(to) =
        make_uint2(twos[0] | (twos[1] << 16), twos[2] | (twos[3] << 16));
  }
}

template <PackedRows::Kind kKind>
__device__ inline void pack_halves(const float (&values)[8], int64_t token, int block,
                                   const PackedRows& out) {
  const int64_t col = static_cast<int64_t>(block) * kWarpColumns + threadIdx.x % 32 * 8;
  if (col >= out.stride) return;
  const bool is_plain =
      out.order == SlotOrder::kPlain;  // else of four the first and third together
  uint32_t words[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kKind == PackedRows::Kind::kF16) {
      const int first = is_plain ? 2 * i : i / 2 * 4 + i % 2;
      words[i] = two_halves(false, values[first], values[first + (is_plain ? 1 : 2)]);
    } else {
      words[i] = two_halves(true, values[2 * i], values[2 * i + 1]);
    }
  }
  auto* row = static_cast<uint16_t*>(out.values) + token * out.stride;
  if (is_plain) {
    *reinterpret_cast<uint4*>(row + col) = make_uint4(words[0], words[1], words[2], words[3]);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<uint32_t*>(row + slot_of(out.order, col + i / 2 * 4 + i % 2)) = words[i];
}

template <PackedRows::Kind kKind>
__device__ inline void pack_bytes(const float (&values)[8], int64_t token, int block,
                                  const ByteRows& bytes) {
  constexpr float kSmallest = 0x1p-120f;
  constexpr bool kInBlocks = kKind == PackedRows::Kind::kBytes256;
  const int lane = threadIdx.x % 32;
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    bits = max(bits, magnitude_bits(values[i]));
  bits = warp_reduce(bits, Max{}, kInBlocks ? 32 : 4);
  const float largest = __uint_as_float(bits);
  const bool is_finite = bits < kInfinityBits;
  const bool is_usable = is_finite && largest >= kSmallest;
  const float inverse = is_usable ? 127.0f / largest : 0.0f;
  uint32_t words[2] = {0, 0};
  int sum = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int code = is_usable ? __float2int_rn(values[i] * inverse) : 0;
    sum += code;
    words[i / 4] |= (static_cast<uint32_t>(code) & 0xFF) << (8 * (i % 4));
  }
  *reinterpret_cast<uint2*>(codes_at(bytes, token, block * 8 + lane / 4) + lane % 4 * 8) =
      make_uint2(words[0], words[1]);
  sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
  if (lane % 2 == 0) sum16_at(bytes, token, block * 16 + lane / 2) = static_cast<int16_t>(sum);
  sum += __shfl_xor_sync(0xFFFFFFFF, sum, 2);
  if (lane % 4 == 0) sum32_at(bytes, token, block * 8 + lane / 4) = static_cast<int16_t>(sum);
  const float scale =
      is_finite ? (is_usable ? largest / 127.0f : 0.0f) : __uint_as_float(0x7FC00000);
  if constexpr (kInBlocks) {
    if (lane == 0) scale_at(bytes, token, block) = scale;
  } else {
    if (lane % 4 == 0) scale_at(bytes, token, block * 8 + lane / 4) = scale;
  }
}

// Columns of `block` of a row of `cols`, by a whole warp; values behind them are zeros.
template <PackedRows::Kind kKind>
__device__ inline void pack_8(const float (&values)[8], const RowRounding<kKind>& rounding,
                              int cols, int64_t token, int block, const PackedRows& out) {
  using Kind = PackedRows::Kind;
  if constexpr (is_rounded(kKind)) {
    pack_codes<kKind>(values, rounding.scale_of(values), cols, token, block, out);
  } else if constexpr (kKind == Kind::kF16 || kKind == Kind::kBF16) {
    pack_halves<kKind>(values, token, block, out);
  } else if constexpr (kKind != Kind::kNone) {
    pack_bytes<kKind>(values, token, block, out.bytes);
  }
}

// Calls function.operator()<kind>().
template <class Function>
void visit_kind(PackedRows::Kind kind, const Function& function) {
  using Kind = PackedRows::Kind;
  switch (kind) {
    case Kind::kNone:
      return function.template operator()<Kind::kNone>();
    case Kind::kBytes32:
      return function.template operator()<Kind::kBytes32>();
    case Kind::kBytes256:
      return function.template operator()<Kind::kBytes256>();
    case Kind::kF16:
      return function.template operator()<Kind::kF16>();
    case Kind::kBF16:
      return function.template operator()<Kind::kBF16>();
    case Kind::kE4m3AsF16:
      return function.template operator()<Kind::kE4m3AsF16>();
    case Kind::kE4m3:
      return function.template operator()<Kind::kE4m3>();
    case Kind::kInt8:
      return function.template operator()<Kind::kInt8>();
  }
}

}  // namespace ingot::cuda
