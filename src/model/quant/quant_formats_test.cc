// SPDX-License-Identifier: Apache-2.0
// Formats that the oracle has no files of: small weights written by hand, decoded to what was
// meant.
#include <filesystem>
#include <fstream>
#include <numeric>

#include "model/quant/quant_test_tensors.h"

namespace ingot {
namespace {

// Codes of `bits` in words: a dense stream, or whole in each word.
std::vector<uint32_t> pack_words(const std::vector<int>& codes, int bits, bool is_dense) {
  std::vector<uint32_t> words;
  const size_t each = 32 / static_cast<size_t>(bits);
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t at = is_dense ? i * static_cast<size_t>(bits)
                               : i / each * 32 + i % each * static_cast<size_t>(bits);
    words.resize(std::max(words.size(), (at + static_cast<size_t>(bits) + 31) / 32));
    const uint64_t value = uint64_t{static_cast<uint32_t>(codes[i])} << (at % 32);
    words[at / 32] |= static_cast<uint32_t>(value);
    if (value >> 32 != 0) words[at / 32 + 1] |= static_cast<uint32_t>(value >> 32);
  }
  return words;
}

std::vector<int> some_codes(size_t count, int bits) {
  std::vector<int> codes(count);
  for (size_t i = 0; i < count; ++i)
    codes[i] = static_cast<int>((i * 7 + i / 5) % (size_t{1} << bits));
  return codes;
}

std::string compressed(const std::string& format, int bits, const std::string& more = "") {
  return fmt::format(
      R"({{"quant_method": "compressed-tensors", "format": "{}", "config_groups": {{"group_0":
          {{"targets": ["Linear"], "weights": {{"num_bits": {}, "type": "int"}}{}}}}}}})",
      format, bits, more);
}

TEST(QuantFormats, PackedIntegersOfAnyBitsInBothPackings) {
  for (const int bits : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const bool is_dense : {true, false}) {
      for (const int64_t cols : {64, 40}) {
        SCOPED_TRACE(fmt::format("{} bits, {} columns, dense {}", bits, cols, is_dense));
        const std::vector<int> codes = some_codes(static_cast<size_t>(cols), bits);
        const std::vector<int> zeros = some_codes(3, bits);  // one group, three rows
        // Rows so narrow that both packings take as many words count as dense.
        if (!is_dense &&
            pack_words(codes, bits, true).size() == pack_words(codes, bits, false).size())
          continue;
        std::vector<uint32_t> words;
        for (int row = 0; row < 3; ++row) {
          const std::vector<uint32_t> one = pack_words(codes, bits, is_dense);
          words.insert(words.end(), one.begin(), one.end());
        }
        Tensors tensors;
        tensors.add_values(".weight_packed", Layout::kI32, {3, words.size() / 3}, words);
        tensors.add_values<float>(".weight_scale", Layout::kF32, {3, 1}, {1, 2, 0.5F});
        const QuantConfig config = *config_of(compressed("pack-quantized", bits));
        std::vector<float> row = tensors.row(config, cols, 1);
        for (size_t i = 0; i < codes.size(); ++i)
          ASSERT_EQ(row[i], 2.0F * static_cast<float>(codes[i] - (1 << (bits - 1)))) << i;
        const std::vector<uint32_t> packed = pack_words(zeros, bits, is_dense);
        tensors.add_values(".weight_zero_point", Layout::kI32, {packed.size(), 1}, packed);
        row = tensors.row(config, cols, 2);
        for (size_t i = 0; i < codes.size(); ++i)
          ASSERT_EQ(row[i], 0.5F * static_cast<float>(codes[i] - zeros[2])) << i;
      }
    }
  }
}

TEST(QuantFormats, CompressedActOrderNamesEachColumnsGroup) {
  const std::vector<int> codes = some_codes(64, 4);
  Tensors tensors;
  tensors.add_values(".weight_packed", Layout::kI32, {1, 8}, pack_words(codes, 4, true));
  tensors.add_values<float>(".weight_scale", Layout::kF32, {1, 2}, {1, 16});
  std::vector<int32_t> groups(64);
  for (size_t i = 0; i < 64; ++i)
    groups[i] = static_cast<int32_t>(i % 2);
  tensors.add_values(".weight_g_idx", Layout::kI32, {64}, groups);
  const std::vector<float> row = tensors.row(*config_of(compressed("pack-quantized", 4)), 64, 0);
  for (size_t i = 0; i < 64; ++i)
    ASSERT_EQ(row[i], static_cast<float>((codes[i] - 8) * (i % 2 == 0 ? 1 : 16)));
}

TEST(QuantFormats, GroupsOfModulesAreFoundByNamePatternAndClass) {
  const QuantConfig config = *config_of(R"({"quant_method": "compressed-tensors",
    "format": "mixed-precision", "ignore": ["lm_head"], "config_groups": {
      "group_0": {"targets": ["Linear"], "format": "pack-quantized", "weights": {"num_bits": 4}},
      "group_1": {"targets": ["re:.*down_proj$", "model.layers.0.mlp.up_proj"],
        "format": "int-quantized", "weights": {"num_bits": 8},
        "input_activations": {"num_bits": 8, "type": "int", "dynamic": true, "strategy": "token"}},
      "group_2": {"targets": ["re:.*v_proj"], "format": "float-quantized",
        "weights": {"num_bits": 8, "type": "float"},
        "input_activations": {"num_bits": 8, "type": "float", "dynamic": false,
                              "strategy": "tensor"}}}})");
  const auto of = [&](const std::string& name) { return config.of(std::vector{name}); };
  EXPECT_EQ(of("model.layers.3.mlp.gate_proj").bits, 4);
  EXPECT_FALSE(of("model.layers.3.mlp.gate_proj").input.rounds());
  EXPECT_EQ(of("model.layers.3.mlp.down_proj").bits, 8);
  EXPECT_EQ(of("model.layers.3.mlp.down_proj").input.kind, InputKind::kInt8);
  EXPECT_EQ(of("model.layers.0.mlp.up_proj").bits, 8);
  EXPECT_EQ(of("model.layers.1.mlp.up_proj").bits, 4);
  EXPECT_EQ(of("model.layers.1.self_attn.v_proj").method, QuantMethod::kFp8);
  EXPECT_TRUE(of("model.layers.1.self_attn.v_proj").has_input_scale);
}

// A module that a list leaves out has a plain weight, and is read as such.
TEST(QuantFormats, PlainWeightsArePlainInEveryFormat) {
  Tensors tensors;
  tensors.add(".weight", Layout::kBF16, {8, 64});
  for (const char* text : {R"({"quant_method": "gptq", "bits": 4})", R"({"quant_method": "awq"})",
                           R"({"quant_method": "fp8", "modules_to_not_convert": ["up"]})",
                           R"({"quant_method": "fbgemm_fp8"})", R"({"quant_method": "mxfp4"})",
                           R"({"quant_method": "bitsandbytes", "llm_int8_skip_modules": ["up"]})",
                           R"({"quant_method": "bitsandbytes", "load_in_8bit": true})",
                           R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})"}) {
    const auto found = tensors.read(*config_of(text), 64);
    ASSERT_TRUE(found.is_ok()) << found.status().message();
    EXPECT_FALSE(found->has_value()) << text;
  }
}

TEST(QuantFormats, GptqOverridesBitsAndGroupsByModule) {
  const QuantConfig config = *config_of(R"({"quant_method": "gptq", "bits": 4, "group_size": 32,
    "dynamic": {"-:.*\\.9\\.": {}, "+:.*\\.(1|2)\\..*up": {"bits": 8, "group_size": 64},
                ".*down": {"bits": 2}}})");
  const auto of = [&](const std::string& name) { return config.of(std::vector{name}); };
  EXPECT_EQ(of("layers.9.up").method, QuantMethod::kNone);
  EXPECT_EQ(of("layers.1.up").bits, 8);
  EXPECT_EQ(of("layers.1.up").group_columns, 64);
  EXPECT_EQ(of("layers.1.down").bits, 2);
  EXPECT_EQ(of("layers.1.down").group_columns, 32);
  EXPECT_EQ(of("layers.3.up").bits, 4);
  Tensors tensors;  // of 8 bits, where the rest of the model has 4
  tensors.name("layers.2.up");
  tensors.add(".qweight", Layout::kI32, {16, 32}, 0x90);
  tensors.add(".qzeros", Layout::kI32, {1, 8}, 0x7F);
  tensors.add(".scales", Layout::kF16, {1, 32}, 0x3C);
  EXPECT_THAT(tensors.row(config, 64, 5), testing::Each(testing::FloatNear(16 * 1.0586F, 0.01F)));
  tensors.name("layers.3.up");
  tensors.expect_refused(config, 64, ".qweight");
}

TEST(QuantFormats, GptqTakesGroupsOfAnySizeAndTheLastMayBeShorter) {
  const QuantConfig config =
      *config_of(R"({"quant_method": "gptq", "bits": 4, "group_size": 24, "format": "gptq_v2"})");
  Tensors tensors;
  tensors.add(".qweight", Layout::kI32, {8, 8}, 0x99);
  tensors.add(".qzeros", Layout::kI32, {3, 1}, 0x88);
  std::vector<float> scales(24);
  std::iota(scales.begin(), scales.end(), 0.0F);
  tensors.add_values(".scales", Layout::kF32, {3, 8}, scales);
  const std::vector<float> row = tensors.row(config, 64, 3);
  for (size_t i = 0; i < 64; ++i)
    ASSERT_EQ(row[i], static_cast<float>(i / 24 * 8 + 3));
}

TEST(QuantFormats, SymmetricGptqWithTheWrongLabelIsFoundOut) {
  for (const char* format : {"gptq", "gptq_v2"}) {
    const QuantConfig config = *config_of(
        fmt::format(R"({{"quant_method": "gptq", "bits": 4, "group_size": 32, "sym": true,
                         "format": "{}"}})",
                    format));
    for (const int stored : {0x77, 0x88}) {
      Tensors tensors;
      tensors.add(".qweight", Layout::kI32, {4, 8}, 0x99);
      tensors.add(".qzeros", Layout::kI32, {1, 1}, stored);
      tensors.add_values<float>(".scales", Layout::kF32, {1, 8}, std::vector<float>(8, 3));
      EXPECT_THAT(tensors.row(config, 32, 0), testing::Each(3)) << format << " " << stored;
    }
  }
}

TEST(QuantFormats, AwqOfGemvRunsAlongTheColumns) {
  const QuantConfig config =
      *config_of(R"({"quant_method": "awq", "version": "gemv", "group_size": 32})");
  const std::vector<int> codes = some_codes(64, 4);
  Tensors tensors;
  std::vector<uint32_t> words = pack_words(codes, 4, true);
  words.insert(words.end(), words.begin(), words.begin() + 8);
  tensors.add_values(".qweight", Layout::kI32, {2, 8}, words);
  tensors.add_values<uint32_t>(".qzeros", Layout::kI32, {2, 1}, {0x00000073, 0x00000054});
  std::vector<uint16_t> scales(16, 0x3C00);  // one
  scales[9] = 0x4000;                        // two: of the second row's second group
  tensors.add_values(".scales", Layout::kF16, {2, 8}, scales);
  const std::vector<float> first = tensors.row(config, 64, 0);
  const std::vector<float> second = tensors.row(config, 64, 1);
  for (size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(first[i], static_cast<float>(codes[i] - (i < 32 ? 3 : 7)));
    ASSERT_EQ(second[i], static_cast<float>(i < 32 ? codes[i] - 4 : 2 * (codes[i] - 5)));
  }
  tensors.add_values(".scales", Layout::kF16, {2, 4}, scales);
  tensors.expect_refused(config, 64, ".scales");
}

Tensors bnb_tensors(const std::string& type, int64_t rows, int64_t cols, int64_t block) {
  Tensors tensors;
  const std::string state =
      fmt::format(R"({{"quant_type": "{}", "shape": [{}, {}], "blocksize": {}, "dtype": "bfloat16",
                       "nested_blocksize": 4, "nested_offset": 0.5}})",
                  type, rows, cols, block);
  tensors.add_values(".weight.quant_state.bitsandbytes__" + type, Layout::kU8, {state.size()},
                     std::vector<char>(state.begin(), state.end()));
  std::vector<uint8_t> codes(static_cast<size_t>(rows * cols / 2));
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<uint8_t>(i * 37);
  tensors.add_values(".weight", Layout::kU8, {codes.size(), 1}, codes);
  std::vector<float> levels(16);
  std::iota(levels.begin(), levels.end(), -7.0F);
  tensors.add_values(".weight.quant_map", Layout::kF32, {16}, levels);
  const auto blocks = static_cast<size_t>((rows * cols + block - 1) / block);
  std::vector<float> absmax(blocks);
  std::iota(absmax.begin(), absmax.end(), 1.0F);
  tensors.add_values(".weight.absmax", Layout::kF32, {blocks}, absmax);
  return tensors;
}

float bnb_value(int64_t index, float scale) {
  const auto byte = static_cast<uint8_t>(index / 2 * 37);
  return (static_cast<float>(index % 2 == 0 ? byte >> 4 : byte & 15) - 7) * scale;
}

TEST(QuantFormats, BlocksOfBitsandbytesRunOnFromRowToRow) {
  const QuantConfig config = *config_of(R"({"quant_method": "bitsandbytes"})");
  for (const char* type : {"nf4", "fp4"}) {
    for (const int64_t block : {32, 64, 128, 256, 4096}) {
      Tensors tensors = bnb_tensors(type, 6, 96, block);
      for (int64_t r = 0; r < 6; ++r) {
        const std::vector<float> row = tensors.row(config, 96, r);
        for (int64_t i = 0; i < 96; ++i) {
          const int64_t at = r * 96 + i;
          ASSERT_EQ(row[static_cast<size_t>(i)], bnb_value(at, static_cast<float>(at / block + 1)));
        }
      }
    }
  }
}

TEST(QuantFormats, NestedScalesAndOtherStorageTypesOfBitsandbytes) {
  const QuantConfig config = *config_of(R"({"quant_method": "bitsandbytes"})");
  Tensors tensors = bnb_tensors("fp4", 4, 64, 32);
  const std::vector<std::byte> codes = tensors.bytes(".weight");
  tensors.add_values(".weight", Layout::kBF16, {64, 1}, codes);  // the same bytes
  tensors.add_values<uint8_t>(".weight.absmax", Layout::kU8, {8}, {0, 1, 2, 3, 4, 5, 6, 7});
  std::vector<float> map(256);
  std::iota(map.begin(), map.end(), 10.0F);
  tensors.add_values(".weight.nested_quant_map", Layout::kF32, {256}, map);
  tensors.add_values<float>(".weight.nested_absmax", Layout::kF32, {2}, {1, 2});
  const std::vector<float> row = tensors.row(config, 64, 3);
  for (int64_t i = 0; i < 64; ++i) {
    const auto block = static_cast<float>(6 + i / 32);
    ASSERT_EQ(row[static_cast<size_t>(i)], bnb_value(192 + i, (10 + block) * 2 + 0.5F));
  }
  tensors.add_values<float>(".weight.nested_absmax", Layout::kF32, {3}, {1, 2, 3});
  tensors.expect_refused(config, 64, "nested");
}

TEST(QuantFormats, Fp8InEverySpelling) {
  struct Case {
    const char* config;
    const char* scale;
    Shape shape;
    InputQuant input;
  };
  const InputQuant token{.kind = InputKind::kE4m3};
  InputQuant fixed = token;
  fixed.scale = 0.25F;
  InputQuant block = token;
  block.block = 128;
  InputQuant limited = token;
  limited.limit = 1200;
  InputQuant powers = block;
  powers.has_powers = true;
  const Case cases[] = {
      {R"({"quant_method": "fp8"})", ".weight_scale", {}, token},
      {R"({"quant_method": "fp8", "activation_scheme": "static"})", ".weight_scale", {1}, fixed},
      {R"({"quant_method": "fp8", "weight_block_size": [128, 128]})",
       ".weight_scale_inv",
       {1, 1},
       block},
      {R"({"quant_method": "fp8", "weight_block_size": [128, 128], "scale_fmt": "ue8m0"})",
       ".weight_scale_inv",
       {1, 1},
       powers},
      {R"({"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0})",
       ".weight_scale",
       {8, 1},
       limited},
      {R"({"quant_method": "modelopt", "quant_algo": "FP8"})", ".weight_scale", {}, fixed},
      {R"({"quant_method": "modelopt", "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"})",
       ".weight_scale",
       {8},
       token},
      {R"({"quant_algo": "FP8_PB_WO"})", ".weight_scale", {1, 1}, {}},
      {R"({"quant_method": "fp8"})", ".qscale_weight", {}, token},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.config);
    Tensors tensors;
    tensors.add(".weight", Layout::kF8_E4M3, {8, 64}, 0x40);  // 2
    const std::vector<float> scales(8, 0.5F);
    tensors.add_values(one.scale, Layout::kF32, one.shape, scales);
    tensors.add_values<float>(".input_scale", Layout::kF32, {}, {0.25F});
    const QuantConfig config = *config_of(one.config);
    EXPECT_THAT(tensors.row(config, 64, 7), testing::Each(1));
    EXPECT_EQ((*tensors.read(config, 64))->input, one.input);
  }
}

TEST(QuantFormats, E5m2AndMxfp8AreRead) {
  Tensors tensors;
  tensors.add(".weight", Layout::kF8_E5M2, {8, 64}, 0x44);  // 4
  tensors.add_values<float>(".weight_scale", Layout::kF32, {}, {0.5F});
  EXPECT_THAT(tensors.row(*config_of(R"({"quant_method": "fp8"})"), 64, 0), testing::Each(2));
  Tensors scaled;
  scaled.add(".weight", Layout::kF8_E4M3, {2, 64}, 0x40);
  scaled.add_values<uint8_t>(".weight_scale", Layout::kU8, {2, 2}, {127, 128, 126, 130});
  const QuantConfig config = *config_of(
      R"({"quant_method": "compressed-tensors", "format": "mxfp8-quantized", "config_groups":
          {"group_0": {"weights": {"num_bits": 8, "type": "float"}, "input_activations":
           {"num_bits": 8, "type": "float", "dynamic": true, "strategy": "group",
            "group_size": 32}}}})");
  const std::vector<float> row = scaled.row(config, 64, 1);
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[63], 16);
  const InputQuant input = (*scaled.read(config, 64))->input;
  EXPECT_EQ(input.block, 32);
  EXPECT_TRUE(input.has_powers);
}

TEST(QuantFormats, StaticInputsOfInt8MayHaveAZeroPoint) {
  Tensors tensors;
  tensors.add(".weight", Layout::kI8, {4, 64}, 0xFE);  // -2
  tensors.add_values<float>(".weight_scale", Layout::kF32, {4, 1}, {1, 2, 3, 4});
  tensors.add_values<float>(".input_scale", Layout::kF32, {1}, {0.125F});
  tensors.add_values<int8_t>(".input_zero_point", Layout::kI8, {1}, {-9});
  const auto config = [](const std::string& rest) {
    return *config_of(compressed(
        "int-quantized", 8,
        R"(, "input_activations": {"num_bits": 8, "type": "int", "strategy": "tensor", )" + rest +
            "}"));
  };
  EXPECT_THAT(tensors.row(config(R"("dynamic": true)"), 64, 2), testing::Each(-6));
  EXPECT_EQ((*tensors.read(config(R"("dynamic": true)"), 64))->input.scale, 0);
  const InputQuant even = (*tensors.read(config(R"("dynamic": false)"), 64))->input;
  EXPECT_EQ(even.scale, 0.125F);
  EXPECT_EQ(even.zero, 0);
  const std::string uneven = R"("dynamic": false, "symmetric": false)";
  EXPECT_EQ((*tensors.read(config(uneven), 64))->input.zero, -9);
  tensors.drop(".input_zero_point");
  tensors.expect_refused(config(uneven), 64, ".input_zero_point");
  for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    tensors.add_values<float>(".input_scale", Layout::kF32, {1}, {bad});
    tensors.expect_refused(config(R"("dynamic": false)"), 64, ".input_scale");
  }
  tensors.drop(".input_scale");
  tensors.expect_refused(config(R"("dynamic": false)"), 64, ".input_scale");
}

TEST(QuantFormats, ModelOptNamesAnAlgorithmForEachLayer) {
  const QuantConfig config = *config_of(R"({"quant_method": "modelopt",
    "quant_algo": "MIXED_PRECISION", "quantized_layers": {
      "model.layers.0.mlp.up_proj": {"quant_algo": "FP8"},
      "model.layers.0.mlp.down_proj": {"quant_algo": "NVFP4", "group_size": 16}}})");
  EXPECT_TRUE(config.is_quantized());
  const auto of = [&](const std::string& name) { return config.of(std::vector{name}); };
  EXPECT_EQ(of("model.layers.0.mlp.up_proj").method, QuantMethod::kFp8);
  EXPECT_EQ(of("model.layers.0.mlp.down_proj").method, QuantMethod::kNvfp4);
  EXPECT_EQ(of("model.layers.1.mlp.down_proj").method, QuantMethod::kNone);
}

TEST(QuantFormats, ConfigsOfTheirOwnStandBesideConfigJson) {
  const std::filesystem::path folder = testing::TempDir() + "/quant_config_test";
  const auto write = [&](const char* name, const char* text) {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name) << text;
  };
  const auto config = HfConfig::parse("{}", "config.json");
  write("quantize_config.json", R"({"bits": 4, "group_size": 64, "desc_act": false})");
  EXPECT_EQ(read_quant_config(*config, folder)->method, QuantMethod::kGptq);
  EXPECT_EQ(read_quant_config(*config, folder)->group_columns, 64);
  write("quant_config.json", R"({"w_bit": 4, "q_group_size": 128, "version": "GEMM"})");
  EXPECT_EQ(read_quant_config(*config, folder)->method, QuantMethod::kAwq);
  write("hf_quant_config.json", R"({"producer": {"name": "modelopt"}, "quantization":
    {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
  EXPECT_EQ(read_quant_config(*config, folder)->method, QuantMethod::kFp8);
  write("other.json", "{}");
  EXPECT_FALSE(read_quant_config(*config, folder)->is_quantized());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ingot
