// SPDX-License-Identifier: Apache-2.0
// Quantized weights that do not fit together are refused by name; the oracle tests those that do.
#include <cmath>
#include <limits>

#include "model/quant/quant_test_tensors.h"

namespace ingot {
namespace {

using testing::HasSubstr;

Tensors gptq_tensors() {  // 64 columns in groups of 32, 16 rows of 4 bits
  Tensors tensors;
  tensors.add(".qweight", Layout::kI32, {8, 16}, 0x73);
  tensors.add(".qzeros", Layout::kI32, {2, 2}, 0x77);
  tensors.add(".scales", Layout::kF16, {2, 16}, 0x3C);
  return tensors;
}

const char* const kGptq = R"({"quant_method": "gptq", "bits": 4, "group_size": 32})";

TEST(Quant, ConfigsThatCannotBeLoadedAreNamed) {
  const auto expect = [](const std::string& text, StatusCode code, const std::string& what) {
    SCOPED_TRACE(text);
    const Status status = config_of(text).status();
    EXPECT_EQ(status.code(), code);
    EXPECT_THAT(status.message(), HasSubstr(what));
  };
  const auto unsupported = StatusCode::kUnsupported;
  const auto invalid = StatusCode::kInvalidData;
  expect("7", invalid, "must be an object");
  expect("{}", invalid, "quant_method");
  expect(R"({"quant_method": "gptq"})", invalid, "bits");
  expect(R"({"quant_method": "gptq", "bits": 5})", unsupported, "5 bits");
  expect(R"({"quant_method": "gptq", "bits": 4, "checkpoint_format": "marlin"})", unsupported,
         "'marlin'");
  expect(R"({"quant_method": "gptq", "bits": 4, "group_size": 0})", invalid, "group_size");
  expect(R"({"quant_method": "gptq", "bits": 4, "format": "gptq_p"})", unsupported, "'gptq_p'");
  expect(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"+:x": {"bits": 7}}})", unsupported,
         "7 bits");
  expect(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"-:(": {}}})", unsupported, "pattern");
  expect(R"({"quant_method": "gptq", "bits": 4, "dynamic": {"x": 3}})", invalid, "object");
  expect(R"({"quant_method": "awq", "version": "marlin"})", unsupported, "'marlin'");
  expect(R"({"quant_method": "awq", "version": "gemv_fast"})", unsupported, "GGUF");
  expect(R"({"quant_method": "fp8", "fmt": "e3m4"})", unsupported, "'e3m4'");
  expect(R"({"quant_method": "fp8", "weight_block_size": [128]})", invalid, "two numbers");
  expect(R"({"quant_method": "fp8", "weight_block_size": [0, 128]})", invalid, "weight_block_size");
  expect(R"({"quant_method": "fp8", "activation_scheme": "x"})", unsupported, "'x'");
  expect(R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": -1})", invalid, "positive");
  expect(R"({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"})", unsupported, "'W4A8_AWQ'");
  expect(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})", invalid,
         "quantized_layers");
  expect(R"({"quant_method": "exl3"})", unsupported, "'exl3'");
  expect(R"({"quant_method": "compressed-tensors", "format": "x"})", invalid, "config_groups");
  const auto compressed = [&](const std::string& rest) {
    return R"({"quant_method": "compressed-tensors", "format": "int-quantized", )" + rest + "}";
  };
  expect(compressed(R"("config_groups": {})"), invalid, "no group");
  expect(compressed(R"("config_groups": {"W4A16": ["Linear"]})"), unsupported, "'W4A16'");
  expect(compressed(R"("config_groups": {"group_0": {}})"), unsupported, "without weights");
  const std::string weights = R"("weights": {"num_bits": 8})";
  const auto group = [&](const std::string& rest) {
    return compressed(R"("config_groups": {"group_0": {)" + weights + rest + "}}");
  };
  expect(group(R"(, "format": "marlin-24")"), unsupported, "'marlin-24'");
  expect(group(R"(, "targets": ["re:["])"), unsupported, "pattern");
  expect(group(R"(, "targets": "Linear")"), invalid, "targets");
  expect(group(R"(, "output_activations": {})"), unsupported, "output");
  expect(group(R"(, "input_activations": {"num_bits": 4})"), unsupported, "4 bits");
  expect(group(R"(, "input_activations": {"num_bits": 8, "strategy": "channel"})"), unsupported,
         "'channel'");
  expect(compressed(R"("transform_config": {"a": 1}, "config_groups": {})"), unsupported,
         "rotated");
  expect(compressed(R"("sparsity_config": {"format": "sparse-24-bitmask"})"), unsupported,
         "'sparse-24-bitmask'");
}

TEST(Quant, ZeroPointsOfTheFirstFormatAreOneMore) {
  const Tensors tensors = gptq_tensors();
  const auto first = tensors.read(*config_of(kGptq), 64);
  ASSERT_TRUE(first.is_ok() && first->has_value()) << first.status().message();
  EXPECT_TRUE((*first)->check().is_ok());
  EXPECT_THAT((*first)->zeros, testing::Each(8));
  const auto second = tensors.read(
      *config_of(R"({"quant_method": "gptq", "bits": 4, "group_size": 32, "format": "gptq_v2"})"),
      64);
  ASSERT_TRUE(second.is_ok() && second->has_value());
  EXPECT_THAT((*second)->zeros, testing::Each(7));
}

TEST(Quant, GptqTensorsMustFitTogether) {
  const QuantConfig config = *config_of(kGptq);
  Tensors tensors = gptq_tensors();
  tensors.drop(".qweight");
  EXPECT_FALSE(tensors.read(config, 64)->has_value()) << "plain weights are no error";
  tensors = gptq_tensors();
  tensors.expect_refused(config, 96, ".qweight");
  tensors.drop(".qzeros");
  tensors.expect_refused(config, 64, ".qzeros");
  tensors = gptq_tensors();
  tensors.add(".qzeros", Layout::kI32, {2, 3});
  tensors.expect_refused(config, 64, ".qzeros");
  tensors = gptq_tensors();
  tensors.add(".scales", Layout::kF16, {3, 16});
  tensors.expect_refused(config, 64, ".scales");
  tensors.add(".scales", Layout::kI32, {2, 16});
  tensors.expect_refused(config, 64, ".scales");
  tensors = gptq_tensors();
  tensors.add(".g_idx", Layout::kI32, {63});
  tensors.expect_refused(config, 64, ".g_idx");
  tensors.add(".g_idx", Layout::kI32, {64}, 0x11);
  tensors.expect_refused(config, 64, "groups beyond");
  tensors.add(".g_idx", Layout::kI32, {64});
  tensors.bytes(".g_idx")[0] = std::byte{1};  // a group of one column
  tensors.expect_refused(config, 64, "unequal");
}

TEST(Quant, TheOtherFormatsCheckTheirShapesToo) {
  Tensors awq;
  awq.add(".qweight", Layout::kI32, {64, 2});
  awq.add(".qzeros", Layout::kI32, {2, 2});
  awq.add(".scales", Layout::kF16, {2, 16});
  const QuantConfig awq_config = *config_of(R"({"quant_method": "awq"})");
  EXPECT_TRUE(awq.read(awq_config, 64).is_ok());
  awq.expect_refused(awq_config, 32, ".qweight");
  awq.add(".qzeros", Layout::kI32, {1, 2});
  awq.expect_refused(awq_config, 64, ".qzeros");

  Tensors fp8;
  fp8.add(".weight", Layout::kF8_E4M3, {8, 64});
  const QuantConfig fp8_config = *config_of(R"({"quant_method": "fp8"})");
  fp8.expect_refused(fp8_config, 64, ".weight_scale");
  fp8.add(".weight_scale", Layout::kF32, {7});
  fp8.expect_refused(fp8_config, 64, "7 scales");
  fp8.add(".weight_scale", Layout::kF32, {8, 1});
  EXPECT_TRUE(fp8.read(fp8_config, 64).is_ok());

  Tensors nf4;
  const QuantConfig nf4_config =
      *config_of(R"({"quant_method": "bitsandbytes", "bnb_4bit_quant_type": "nf4"})");
  const std::string state = R"({"shape": [8, 64], "blocksize": 64})";
  nf4.add(".weight.quant_state.bitsandbytes__nf4", Layout::kU8, {state.size()});
  std::memcpy(nf4.bytes(".weight.quant_state.bitsandbytes__nf4").data(), state.data(),
              state.size());
  nf4.add(".weight", Layout::kU8, {255, 1});
  nf4.add(".weight.absmax", Layout::kF32, {8});
  nf4.add(".weight.quant_map", Layout::kF32, {16});
  nf4.expect_refused(nf4_config, 64, "255 bytes");
  nf4.expect_refused(nf4_config, 32, "shape");
  nf4.add(".weight", Layout::kU8, {256, 1});
  EXPECT_TRUE(nf4.read(nf4_config, 64).is_ok());
  nf4.add(".weight.absmax", Layout::kU8, {8});
  nf4.expect_refused(nf4_config, 64, "nested_quant_map");

  Tensors packed;
  packed.add(".weight_packed", Layout::kI32, {8, 8});
  packed.add(".weight_scale", Layout::kBF16, {8, 2});
  packed.add(".weight_shape", Layout::kI64, {2});
  const QuantConfig packed_config = *config_of(
      R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
          "config_groups": {"group_0": {"weights": {"num_bits": 4}}}})");
  packed.expect_refused(packed_config, 64, "weight_shape says [0, 0]");
  packed.drop(".weight_shape");
  EXPECT_TRUE(packed.read(packed_config, 64).is_ok());
  packed.add(".weight_zero_point", Layout::kI32, {2, 2});
  packed.expect_refused(packed_config, 64, ".weight_zero_point");
}

// Every way of one format, with one thing wrong at a time.
TEST(Quant, Nvfp4TensorsMustFitTogether) {
  const auto tensors = [](bool is_divided) {
    Tensors made;
    made.add(is_divided ? ".weight_packed" : ".weight", Layout::kU8, {4, 32}, 0x21);
    made.add(".weight_scale", Layout::kF8_E4M3, {4, 4}, 0x38);
    made.add_values<float>(is_divided ? ".weight_global_scale" : ".weight_scale_2", Layout::kF32,
                           {1}, {2});
    return made;
  };
  const QuantConfig modelopt = *config_of(R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})");
  const QuantConfig compressed = *config_of(
      R"({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
          "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "float"}}}})");
  EXPECT_EQ(tensors(false).row(modelopt, 64, 3)[1], 2);      // 1 * 2
  EXPECT_EQ(tensors(true).row(compressed, 64, 3)[1], 0.5F);  // 1 / 2
  Tensors wrong = tensors(false);
  wrong.expect_refused(modelopt, 72, ".weight");
  wrong.expect_refused(modelopt, 128, ".weight");
  wrong.add(".weight_scale", Layout::kF8_E4M3, {4, 2});
  wrong.expect_refused(modelopt, 64, ".weight_scale");
  wrong.add(".weight_scale", Layout::kF32, {4, 4});
  wrong.expect_refused(modelopt, 64, ".weight_scale");
  wrong = tensors(false);
  wrong.drop(".weight_scale_2");
  wrong.expect_refused(modelopt, 64, ".weight_scale_2");
  wrong = tensors(true);
  for (const float bad : {0.0F, -2.0F, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity(), 1e-45F}) {
    wrong.add_values<float>(".weight_global_scale", Layout::kF32, {1}, {bad});
    wrong.expect_refused(compressed, 64, "scale");
  }
  wrong.add(".weight_global_scale", Layout::kF32, {0});
  wrong.expect_refused(compressed, 64, ".weight_global_scale");
  wrong = tensors(true);
  wrong.add(".weight_scale", Layout::kF8_E4M3, {4, 4}, 0x7F);
  wrong.expect_refused(compressed, 64, "no number");
}

TEST(Quant, ExpertsMustFitTogether) {
  Tensors tensors;
  tensors.add(".x_blocks", Layout::kU8, {2, 4, 2, 16});
  tensors.add(".x_scales", Layout::kU8, {2, 4, 2}, 127);
  const auto refused = [&](int64_t cols, const std::string& what) {
    const auto experts = tensors.experts(".x", cols);
    ASSERT_FALSE(experts.is_ok());
    EXPECT_THAT(experts.status().message(), HasSubstr(what));
  };
  EXPECT_EQ(tensors.experts(".x", 64)->size(), 2u);
  refused(96, "_blocks");
  refused(65, "_blocks");
  tensors.add(".x_scales", Layout::kU8, {2, 4, 2}, 255);
  refused(64, "no number");
  tensors.add(".x_scales", Layout::kU8, {2, 4, 3}, 127);
  refused(64, "_scales");
  tensors.drop(".x_scales");
  refused(64, "_scales");
  tensors.add(".x_scales", Layout::kU8, {2, 0, 2});
  tensors.add(".x_blocks", Layout::kU8, {2, 0, 2, 16});
  refused(64, "expert 0");
}

TEST(Quant, ScalesThatAreNoNumbersAreRefused) {
  for (const int bad : {0x7C, 0x7E}) {  // infinity, NaN
    Tensors tensors = gptq_tensors();
    tensors.bytes(".scales")[1] = static_cast<std::byte>(bad);
    tensors.bytes(".scales")[0] = std::byte{0};
    tensors.expect_refused(*config_of(kGptq), 64, "no number");
  }
  Tensors bytes;
  bytes.add(".weight", Layout::kI8, {4, 64});
  bytes.add_values<float>(".SCB", Layout::kF32, {4}, {1, 2, std::nanf(""), 4});
  const QuantConfig config =
      *config_of(R"({"quant_method": "bitsandbytes", "load_in_8bit": true})");
  bytes.expect_refused(config, 64, "no number");
  bytes.add_values<float>(".SCB", Layout::kF32, {3}, {1, 2, 3});
  bytes.expect_refused(config, 64, "3 scales");
  bytes.add_values<float>(".SCB", Layout::kF32, {4}, {1, 2, 3, 4});
  bytes.add(".weight_format", Layout::kU8, {}, 2);
  bytes.expect_refused(config, 64, "GPU");
}

TEST(Quant, CompressedTensorsMustFitTogether) {
  const QuantConfig config = *config_of(
      R"({"quant_method": "compressed-tensors", "format": "pack-quantized",
          "config_groups": {"group_0": {"weights": {"num_bits": 3}}}})");
  const auto tensors = [] {
    Tensors made;
    made.add(".weight_packed", Layout::kI32, {8, 6});
    made.add(".weight_scale", Layout::kBF16, {8, 2}, 0x3F);
    return made;
  };
  EXPECT_TRUE(tensors().read(config, 64).is_ok());
  Tensors wrong = tensors();
  wrong.add(".weight_packed", Layout::kI32, {8, 5});
  wrong.expect_refused(config, 64, ".weight_packed");
  wrong.add(".weight_packed", Layout::kI32, {48});
  wrong.expect_refused(config, 64, ".weight_packed");
  wrong.add(".weight_packed", Layout::kI32, {0, 6});
  wrong.expect_refused(config, 64, "no rows");
  wrong.add(".weight_packed", Layout::kU8, {8, 24});
  wrong.expect_refused(config, 64, ".weight_packed");
  wrong = tensors();
  wrong.add(".weight_scale", Layout::kBF16, {8, 3}, 0x3F);
  wrong.expect_refused(config, 64, ".weight_scale");
  wrong.drop(".weight_scale");
  wrong.expect_refused(config, 64, ".weight_scale");
  wrong = tensors();
  wrong.add(".weight_g_idx", Layout::kI32, {64}, 0x01);
  wrong.expect_refused(config, 64, "groups beyond");
  wrong.add(".weight_g_idx", Layout::kI64, {64});
  wrong.expect_refused(config, 64, ".weight_g_idx");
  wrong.add(".weight_g_idx", Layout::kI32, {32});
  wrong.expect_refused(config, 64, ".weight_g_idx");
  wrong = tensors();
  wrong.add(".weight_zero_point", Layout::kI8, {8, 1});
  wrong.expect_refused(config, 64, ".weight_zero_point");
  wrong.add(".weight_zero_point", Layout::kI8, {8, 2}, 0x80);  // -128 of three bits
  wrong.expect_refused(config, 64, "zero point");
}

TEST(Quant, StatesOfBitsandbytesMustFitTheirTensors) {
  const QuantConfig config = *config_of(R"({"quant_method": "bitsandbytes"})");
  const auto with_state = [](const std::string& state) {
    Tensors made;
    made.add_values(".weight.quant_state.bitsandbytes__fp4", Layout::kU8, {state.size()},
                    std::vector<char>(state.begin(), state.end()));
    made.add(".weight", Layout::kU8, {256, 1});
    made.add(".weight.absmax", Layout::kF32, {8});
    made.add(".weight.quant_map", Layout::kF32, {16});
    return made;
  };
  EXPECT_TRUE(with_state(R"({"shape": [8, 64], "blocksize": 64})").read(config, 64).is_ok());
  with_state("{").expect_refused(config, 64, "fp4");
  with_state(R"({"shape": [8, 64], "blocksize": 0})").expect_refused(config, 64, "blocksize");
  with_state(R"({"shape": [8, 64], "blocksize": 32})").expect_refused(config, 64, "8 scales");
  with_state(R"({"shape": [2147483648, 64], "blocksize": 64})")
      .expect_refused(config, 64, "256 bytes");
  with_state(R"({"shape": [-8, 64], "blocksize": 64})").expect_refused(config, 64, "shape");
  with_state(R"({"shape": [8], "blocksize": 64})").expect_refused(config, 64, "shape");
  Tensors short_map = with_state(R"({"shape": [8, 64], "blocksize": 64})");
  short_map.add(".weight.quant_map", Layout::kF32, {15});
  short_map.expect_refused(config, 64, "15 levels");
}

}  // namespace
}  // namespace ingot
