// SPDX-License-Identifier: Apache-2.0
#include "compress/weight_format.h"

#include <fmt/core.h>

#include "base/check.h"

namespace ingot {

std::string_view to_string(WeightKind kind) {
  switch (kind) {
    case WeightKind::kGptq:
      return "gptq";
    case WeightKind::kAwq:
      return "awq";
    case WeightKind::kPacked:
    case WeightKind::kInt8:
    case WeightKind::kMxfp4:
    case WeightKind::kNvfp4:
      return "compressed-tensors";
    case WeightKind::kFp8:
      return "fp8";
    case WeightKind::kNf4:
      return "bitsandbytes";
  }
  return "?";
}

std::string WeightFormat::misfit(int64_t rows, int64_t cols) const {
  const auto say = [&](std::string_view what) {
    return fmt::format("{} x {} does not fit: {}", rows, cols, what);
  };
  switch (kind) {
    case WeightKind::kGptq:
      return fits_gptq(rows, cols, affine) ? "" : say("GPTQ needs multiples of 32");
    case WeightKind::kAwq:
      return fits_awq(rows, cols, affine)
                 ? ""
                 : say("AWQ needs rows in eights and columns in whole groups");
    case WeightKind::kPacked:
      return fits_compressed(rows, cols, affine) ? "" : say("codes do not fill whole words");
    case WeightKind::kMxfp4:
      return cols % 32 == 0 ? "" : say("MXFP4 needs columns in groups of 32");
    case WeightKind::kNvfp4:
      return cols % 16 == 0 ? "" : say("NVFP4 needs columns in groups of 16");
    case WeightKind::kNf4:
      return cols % nf4.block == 0 ? "" : say("blocks do not fill rows");
    case WeightKind::kInt8:
    case WeightKind::kFp8:
      return "";
  }
  return "";
}

PackedTensors WeightFormat::plan(int64_t rows, int64_t cols) const {
  switch (kind) {
    case WeightKind::kGptq:
      return gptq_tensors(rows, cols, affine);
    case WeightKind::kAwq:
      return awq_tensors(rows, cols, affine);
    case WeightKind::kPacked:
      return compressed_tensors(rows, cols, affine);
    case WeightKind::kInt8:
      return int8_tensors(rows, cols, affine.scale_layout);
    case WeightKind::kFp8:
      return fp8_tensors(rows, cols, fp8);
    case WeightKind::kMxfp4:
      return mxfp4_tensors(rows, cols);
    case WeightKind::kNvfp4:
      return nvfp4_tensors(rows, cols);
    case WeightKind::kNf4:
      return nf4_tensors(rows, cols, nf4);
  }
  return {};
}

QuantizedWeight WeightFormat::pack(const AffineCodes& codes) const {
  QuantizedWeight result;
  result.values = codes.values();
  switch (kind) {
    case WeightKind::kGptq:
      result.tensors = pack_gptq(codes);
      break;
    case WeightKind::kAwq:
      result.tensors = pack_awq(codes);
      break;
    case WeightKind::kPacked:
      result.tensors = pack_compressed(codes, affine.scale_layout);
      break;
    case WeightKind::kInt8:
      result.tensors = pack_int8(codes, affine.scale_layout);
      break;
    default:
      INGOT_CHECK(false);
  }
  return result;
}

QuantizedWeight WeightFormat::round(std::span<const float> values, int64_t rows, int64_t cols,
                                    std::span<const float> importance, float input_scale,
                                    const Exec& exec) const {
  switch (kind) {
    case WeightKind::kFp8:
      return quantize_fp8(values, rows, cols, fp8, input_scale, exec);
    case WeightKind::kMxfp4:
      return quantize_mxfp4(values, rows, cols, exec);
    case WeightKind::kNvfp4:
      return quantize_nvfp4(values, rows, cols, exec);
    case WeightKind::kNf4:
      return quantize_nf4(values, rows, cols, nf4, exec);
    default:
      return pack(quantize_affine(values, rows, cols, importance, affine, exec));
  }
}

double WeightFormat::bits_per_weight(int64_t rows, int64_t cols) const {
  double bytes = 0;
  for (const PackedTensor& tensor : plan(rows, cols)) {
    const CheckedSize size = storage_bytes(tensor.layout, tensor.shape.elements());
    bytes += static_cast<double>(size.value_or(0));
  }
  return 8 * bytes / static_cast<double>(rows * cols);
}

}  // namespace ingot
