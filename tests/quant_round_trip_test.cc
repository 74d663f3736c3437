// SPDX-License-Identifier: Apache-2.0
// What a quantizer packs, the reader of the same format gets back: the same values to the last bit,
// from tensors of the shapes that were planned, under the quantization_config that is written.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/json.h"
#include "compress/quantization_json.h"
#include "compress/weight_format.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

struct Case {
  std::string name;
  WeightFormat format;
};

WeightFormat affine(WeightKind kind, int bits, int64_t group, bool is_symmetric) {
  WeightFormat format;
  format.kind = kind;
  format.affine.bits = bits;
  format.affine.group_columns = group;
  format.affine.is_symmetric = is_symmetric;
  format.affine.least_zero = kind == WeightKind::kGptq ? 1 : 0;
  format.affine.scale_layout =
      kind == WeightKind::kGptq || kind == WeightKind::kAwq ? Layout::kF16 : Layout::kBF16;
  return format;
}

WeightFormat fp8(Fp8Scales scales, bool is_static) {
  WeightFormat format;
  format.kind = WeightKind::kFp8;
  format.fp8.scales = scales;
  format.fp8.scale_layout = Layout::kBF16;
  format.fp8.has_input_scale = is_static;
  format.has_static_inputs = is_static;
  return format;
}

WeightFormat plain(WeightKind kind, bool is_nested = false) {
  WeightFormat format;
  format.kind = kind;
  format.nf4.is_nested = is_nested;
  return format;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const int bits : {2, 3, 4, 8}) {
    for (const int64_t group : {int64_t{0}, int64_t{32}, int64_t{128}}) {
      for (const bool is_symmetric : {true, false}) {
        result.push_back({fmt::format("gptq_{}_{}_{}", bits, group, is_symmetric ? "sym" : "asym"),
                          affine(WeightKind::kGptq, bits, group, is_symmetric)});
      }
    }
  }
  for (const bool is_symmetric : {true, false}) {
    const char* suffix = is_symmetric ? "sym" : "asym";
    result.push_back(
        {fmt::format("awq_{}", suffix), affine(WeightKind::kAwq, 4, 64, is_symmetric)});
    for (const int bits : {4, 8}) {
      result.push_back({fmt::format("packed_{}_{}", bits, suffix),
                        affine(WeightKind::kPacked, bits, 128, is_symmetric)});
    }
  }
  result.push_back({"packed_channel", affine(WeightKind::kPacked, 8, 0, true)});
  result.push_back({"int8", affine(WeightKind::kInt8, 8, 0, true)});
  result.push_back({"fp8_tensor_static", fp8(Fp8Scales::kTensor, true)});
  result.push_back({"fp8_channel", fp8(Fp8Scales::kRow, false)});
  result.push_back({"fp8_block", fp8(Fp8Scales::kBlock, false)});
  result.push_back({"mxfp4", plain(WeightKind::kMxfp4)});
  result.push_back({"nvfp4", plain(WeightKind::kNvfp4)});
  result.push_back({"nf4", plain(WeightKind::kNf4)});
  result.push_back({"nf4_nested", plain(WeightKind::kNf4, true)});
  return result;
}

class RoundTrip : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr int64_t kRows = 160;  // not whole blocks of 128
  static constexpr int64_t kCols = 384;

  std::vector<float> weights() const {
    std::mt19937 random(11);
    std::normal_distribution<float> normal(0, 0.03F);
    std::vector<float> values(static_cast<size_t>(kRows * kCols));
    for (float& value : values)
      value = normal(random);
    values[1000] = 0.4F;  // an outlier
    std::fill_n(values.begin() + 5 * kCols, kCols, 0.0F);
    return values;
  }

  // As config.json would say it.
  QuantConfig config(const WeightFormat& format) const {
    CompressOptions options;
    options.format = format;
    Json json = {{"model_type", "llama"}};
    json["quantization_config"] = quantization_json(options, {{format, {}}}, {"lm_head"});
    const auto parsed = HfConfig::parse(dump_json(json), "config.json");
    EXPECT_TRUE(parsed.is_ok()) << parsed.status().message();
    const auto read = read_quant_config(*parsed);
    EXPECT_TRUE(read.is_ok()) << read.status().message();
    return *read;
  }

  std::vector<float> read_back(const QuantizedWeight& packed, const WeightFormat& format) const {
    std::map<std::string, TensorEntry, std::less<>> entries;
    for (const PackedTensor& tensor : packed.tensors)
      entries[tensor.suffix] = {tensor.suffix, {tensor.layout, tensor.shape, tensor.bytes}, 0};
    const QuantModule module("memory", "model.layers.0.mlp.up_proj",
                             [&](std::string_view suffix) -> Result<const TensorEntry*> {
                               const auto it = entries.find(suffix);
                               return it == entries.end() ? nullptr : &it->second;
                             });
    const auto tensor = read_quant_weight(module, config(format), kCols);
    EXPECT_TRUE(tensor.is_ok()) << tensor.status().message();
    if (!tensor.is_ok() || !tensor->has_value()) return {};
    EXPECT_TRUE((*tensor)->check().is_ok()) << (*tensor)->check().message();
    std::vector<float> values(static_cast<size_t>(kRows * kCols));
    for (int64_t row = 0; row < kRows; ++row) {
      dequantize_row(**tensor, row,
                     std::span(values).subspan(static_cast<size_t>(row * kCols), kCols));
    }
    return values;
  }
  ThreadPool pool_{2};
};

TEST_P(RoundTrip, ReadersGetWhatWasPacked) {
  const WeightFormat& format = GetParam().format;
  ASSERT_EQ(format.misfit(kRows, kCols), "");
  const std::vector<float> original = weights();
  const QuantizedWeight packed = format.round(original, kRows, kCols, {}, 0.05F, Exec(pool_));
  const PackedTensors planned = format.plan(kRows, kCols);
  ASSERT_EQ(planned.size(), packed.tensors.size());
  for (size_t i = 0; i < planned.size(); ++i) {
    SCOPED_TRACE(planned[i].suffix);
    EXPECT_EQ(planned[i].suffix, packed.tensors[i].suffix);
    EXPECT_EQ(planned[i].layout, packed.tensors[i].layout);
    EXPECT_EQ(planned[i].shape, packed.tensors[i].shape);
    EXPECT_EQ(packed.tensors[i].bytes.size(),
              storage_bytes(planned[i].layout, planned[i].shape.elements()).value_or(0));
  }
  const std::vector<float> values = read_back(packed, format);
  ASSERT_EQ(values.size(), packed.values.size());
  double error = 0;
  double energy = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], packed.values[i]) << i;
    error += std::pow(static_cast<double>(values[i] - original[i]), 2);
    energy += std::pow(static_cast<double>(original[i]), 2);
  }
  const bool is_8_bit = format.kind == WeightKind::kFp8 || format.kind == WeightKind::kInt8 ||
                        (format.is_affine() && format.affine.bits == 8);
  const bool is_coarse = format.is_affine() && format.affine.bits < 4;
  EXPECT_LT(error / energy, is_8_bit ? 0.001 : is_coarse ? 0.4 : 0.03);
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip, ::testing::ValuesIn(cases()),
                         [](const auto& tested) { return tested.param.name; });

// The table of nested scales is bitsandbytes' own.
TEST(Nf4, TheDynamicMapIsDenseNextToZero) {
  const std::vector<float> map = dynamic_map();
  ASSERT_EQ(map.size(), 256U);
  EXPECT_TRUE(std::ranges::is_sorted(map));
  EXPECT_FLOAT_EQ(map.front(), -0.99296875F);
  EXPECT_EQ(map.back(), 1.0F);
  EXPECT_EQ(map[127], 0.0F);
  EXPECT_FLOAT_EQ(map[128], 5.5e-7F);
}

}  // namespace
}  // namespace ingot
