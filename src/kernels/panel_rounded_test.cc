// SPDX-License-Identifier: Apache-2.0
// e4m3, NF4 and FP4 as bytes, from the packer to the outputs of a layer.
#include "kernels/panel_rounded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/linear.h"
#include "kernels/test_quant.h"

namespace ingot {
namespace {

// Two groups of e4m3 codes as bytes: exact from an eighth of the largest of 32 on, within half a
// unit below.
class Float8Bytes {
 public:
  Float8Bytes() {
    tensor_.rows = 1;
    tensor_.cols = 64;
    tensor_.scheme = {CodeMeaning::kE4m3, CodeOrder::kRows, 8, 128};
    tensor_.scales = {0.0123F};
    tensor_.codes = codes;
    unit_ = unit_of_rounded(tensor_);
  }
  const QuantTensor& tensor() const { return tensor_; }
  void pack() {
    pack_panels({Layout::kU8, nullptr, 0, 1, 64, &tensor_, unit_}, Packing::kGroups8, 0, 1,
                packed_.data());
  }
  float wanted(size_t i) const {
    return to_float(Float8E4M3{std::to_integer<uint8_t>(codes[i])}) * 0.0123F;
  }
  float largest(size_t group) const {
    float largest = 0;
    for (size_t i = group * 32; i < group * 32 + 32; ++i)
      largest = std::max(largest, std::fabs(wanted(i)));
    return largest;
  }
  float scale(size_t group) const {
    Half half;
    std::memcpy(&half, packed_.data() + group * 32, sizeof(half));
    return to_float(half) * unit_;
  }
  float found(size_t i) const {
    const std::byte* run = packed_.data() + shape_.run_at(static_cast<int64_t>(i / 32));
    return static_cast<float>(panel_code(run, 8, 0, static_cast<int64_t>(i % 32)) - 128) *
           scale(i / 32);
  }

  std::vector<std::byte> codes = std::vector<std::byte>(64);

 private:
  QuantTensor tensor_;
  float unit_ = 0;
  PanelShape shape_ = panel_shape(Packing::kGroups8, 64);
  std::vector<std::byte> packed_ = std::vector<std::byte>(static_cast<size_t>(shape_.panel));
};

TEST(PanelRounded, Float8LosesLittle) {
  Random random(test_seed());
  Float8Bytes bytes;
  ASSERT_EQ(packing_of(bytes.tensor(), TargetSet::scalar_only(), Rounding::kCodes),
            Packing::kGroups8);
  ASSERT_EQ(packing_of(bytes.tensor()), Packing::kF8);
  for (int round = 0; round < 50; ++round) {
    // From all that there are to a few small ones.
    for (std::byte& code : bytes.codes)
      code = static_cast<std::byte>(random.whole(0, 126 >> (round % 7)) + 128 * random.whole(0, 1));
    bytes.pack();
    for (size_t i = 0; i < 64; ++i) {
      const float wanted = bytes.wanted(i);
      const bool is_exact = std::fabs(wanted) * 8 >= bytes.largest(i / 32);
      const float of_scale = std::fabs(bytes.found(i)) * 0x1p-11F;  // which is a half
      EXPECT_NEAR(bytes.found(i), wanted, of_scale + (is_exact ? 0 : bytes.scale(i / 32) / 2));
    }
  }
}

TEST(PanelRounded, Float8KeepsWhatIsNoNumber) {
  Float8Bytes bytes;
  bytes.codes[3] = std::byte{0xFF};
  bytes.pack();
  EXPECT_TRUE(std::isnan(bytes.scale(0)));
  EXPECT_FALSE(std::isnan(bytes.scale(1)));
}

// No weights, only what they would be looked up in.
QuantTensor tensor_of_levels(const int8_t* high, const int8_t* low, float unit) {
  QuantTensor tensor;
  tensor.rows = 16;
  tensor.cols = 64;
  tensor.scheme = {CodeMeaning::kLevels, CodeOrder::kRows, 4, 64};
  for (int i = 0; i < 16; ++i)
    tensor.levels.push_back(static_cast<float>(128 * high[i] + low[i]) / unit);
  return tensor;
}

TEST(PanelRounded, NF4HasItsTableOfBytesOnlyWhereItMayBeRounded) {
  const QuantTensor tensor = tensor_of_levels(kNf4High, kNf4Low, kNf4Unit);
  for (size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(static_cast<float>(kNf4Bytes[i]) / kNf4BytesUnit, tensor.levels[i], 0.0037F) << i;
  EXPECT_EQ(packing_of(tensor), Packing::kGroupsNf4);
  EXPECT_EQ(packing_of(tensor, TargetSet::scalar_only(), Rounding::kCodes),
            Packing::kGroupsNf4Bytes);
}

TEST(PanelRounded, FP4HasItsTableOfBytesButForItsSmallest) {
  const QuantTensor tensor = tensor_of_levels(kBnbFp4High, kBnbFp4Low, kBnbFp4Unit);
  for (size_t i = 0; i < 16; ++i) {
    const float slack = i % 8 == 1 ? 0.0032F : 1e-6F;
    const float as_byte = static_cast<float>(kBnbFp4Bytes[i]) / kBnbFp4BytesUnit;
    EXPECT_NEAR(as_byte, tensor.levels[i], slack) << i;
  }
  EXPECT_EQ(packing_of(tensor), Packing::kGroupsBnbFp4);
  EXPECT_EQ(packing_of(tensor, TargetSet::scalar_only(), Rounding::kCodes),
            Packing::kGroupsFp4Bytes);
}

constexpr int64_t kLayerRows = 37;
constexpr int64_t kLayerCols = 416;
constexpr int64_t kLayerTokens = 45;

std::vector<float> outputs_of(const QuantTensor& tensor, const std::vector<float>& x,
                              TargetSet targets) {
  WeightMemory memory;
  ThreadPool pool(2);
  const Exec exec(pool);
  const auto linear =
      Linear::bind(tensor, {}, targets, memory, exec, {.rounding = Rounding::kCodes});
  EXPECT_TRUE(linear.is_ok()) << linear.status().message();
  Activations input(targets);
  const auto tokens = static_cast<int64_t>(x.size()) / kLayerCols;
  input.set(x.data(), tokens, kLayerCols);
  std::vector<float> y(static_cast<size_t>(tokens * kLayerRows), std::nanf(""));
  linear->run(exec, input, y.data(), kLayerRows);
  return y;
}

// What rounding the inputs (half of 1/127 of the largest of 32), the weights (1/128) and the scales
// may change.
struct Wanted {
  double value = 0;
  double slack = 0;
};
Wanted wanted_of(const float* weights, const float* x) {
  Wanted wanted;
  for (int64_t first = 0; first < kLayerCols; first += 32) {
    double weight_sum = 0, input_sum = 0, largest_weight = 0, largest_input = 0;
    for (int64_t i = first; i < first + 32; ++i) {
      const auto w = static_cast<double>(weights[i]);
      const auto in = static_cast<double>(x[i]);
      wanted.value += w * in;
      wanted.slack += std::fabs(w * in) * 0x1p-10;
      weight_sum += std::fabs(w);
      input_sum += std::fabs(in);
      largest_weight = std::max(largest_weight, std::fabs(w));
      largest_input = std::max(largest_input, std::fabs(in));
    }
    wanted.slack += weight_sum * largest_input / 253 + input_sum * largest_weight / 127;
  }
  return wanted;
}

// Within its steps of the weights as they are, the same on every target and for a token alone.
TEST(PanelRounded, OutputsAreWithinTheSteps) {
  Random random(test_seed());
  for (const Packing packing : {Packing::kF8, Packing::kGroupsNf4, Packing::kGroupsBnbFp4}) {
    SCOPED_TRACE(info(packing).name);
    const RandomQuant quant = random_quant(random, packing, kLayerRows, kLayerCols);
    const std::vector<float> x = random.normals(kLayerTokens * kLayerCols);
    const TargetSet all = TargetSet::of_this_machine().without(Target::kAmx);
    const std::vector<float> y = outputs_of(quant.tensor, x, all);
    std::vector<float> weights(kLayerCols);
    for (int64_t row = 0; row < kLayerRows; ++row) {
      dequantize_row(quant.tensor, row, weights);
      for (int64_t token = 0; token < kLayerTokens; ++token) {
        const Wanted wanted = wanted_of(weights.data(), x.data() + token * kLayerCols);
        EXPECT_NEAR(y[static_cast<size_t>(token * kLayerRows + row)], wanted.value, wanted.slack);
      }
    }
    for (const TargetSet targets :
         {all.without(Target::kAvx512Bf16),
          all.without(Target::kAvx512Bf16).without(Target::kAvx512), TargetSet::scalar_only()})
      EXPECT_EQ(outputs_of(quant.tensor, x, targets), y) << targets.to_string();
    QuantTensor with_inputs = quant.tensor;
    with_inputs.input.kind = InputKind::kE4m3;  // which would lose more
    EXPECT_EQ(outputs_of(with_inputs, x, all), y);
    const std::vector<float> last(x.end() - kLayerCols, x.end());
    const std::vector<float> alone = outputs_of(quant.tensor, last, all);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), y.end() - kLayerRows));
  }
}

}  // namespace
}  // namespace ingot
