// SPDX-License-Identifier: Apache-2.0
// Gate and up as one launch, whose output may be packed for the layer behind as it is made: the
// bits of the ops one by one.
#include <gtest/gtest.h>

#include "kernels/cuda/test_rows.h"

namespace ingot {
namespace {

class LinearGatedCuda : public RowsOnGpu {
 protected:
  struct Result {
    std::vector<float> between;
    std::vector<float> out;
  };

  Placed coded(Layout layout, int64_t rows, int64_t cols) {
    const std::vector<std::byte> bytes = random_.weights(layout, rows * cols);
    const std::vector<float> bias = random_.normals(rows);
    const TensorView view{layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)},
                          bytes};
    return *test_device()->place(view, bias, {}, exec_);
  }

  Result feed_forward(const std::vector<float>& x, int64_t tokens, const Placed& gate,
                      const Placed& up, const Placed& down, bool is_one_by_one) {
    const std::array linears{Linear::placed(gate), Linear::placed(up), Linear::placed(down)};
    const int64_t hidden = linears[0].rows();
    const int64_t rows = linears[2].rows();
    Result result{poisoned(tokens * hidden), poisoned(tokens * rows)};
    ops_->begin({});
    float* own_x = ops_->buffer(Buffer::kNormed, std::ssize(x));
    float* between = ops_->buffer(Buffer::kGate, tokens * hidden);
    float* y = ops_->buffer(Buffer::kUp, tokens * hidden);
    float* out = ops_->buffer(Buffer::kBranch, tokens * rows);
    ops_->write(own_x, x);
    ops_->write(y, result.between);
    ops_->write(out, result.out);
    ops_->set_input(InputSlot::kBranch, own_x, tokens, linears[0].cols());
    const GatedOp op{.gate = &linears[0],
                     .up = &linears[1],
                     .next = &linears[2],
                     .activation = Activation::kSilu,
                     .between = between,
                     .y = y,
                     .rows = tokens};
    if (is_one_by_one) {
      ops_->Ops::run_gated(InputSlot::kBranch, op);
    } else {
      ops_->run_gated(InputSlot::kBranch, op);
    }
    ops_->set_input(InputSlot::kInner, y, tokens, hidden);
    const LinearOutput output{&linears[2], out, rows};
    ops_->run_linears(InputSlot::kInner, {&output, 1});
    for (const auto& [from, to] : {std::pair(y, &result.between), std::pair(out, &result.out)}) {
      const Status status = ops_->read(from, *to);
      EXPECT_TRUE(status.is_ok()) << status.message();
    }
    return result;
  }

  void compare(const std::vector<float>& x, int64_t tokens, const Placed& gate, const Placed& up,
               const Placed& down, const std::string& name) {
    const Result one_by_one = feed_forward(x, tokens, gate, up, down, true);
    const Result together = feed_forward(x, tokens, gate, up, down, false);
    for (const float value : one_by_one.between)
      ASSERT_TRUE(std::isfinite(value)) << name;
    ASSERT_EQ(together.between, one_by_one.between) << name << " by " << tokens;
    ASSERT_EQ(together.out, one_by_one.out) << name << " by " << tokens;
  }
};

class LinearGatedRowsCuda : public LinearGatedCuda,
                            public ::testing::WithParamInterface<RowsCase> {};

// Rows that fill no tile, and widths that the layer behind can read packed, or not.
TEST_P(LinearGatedRowsCuda, GiveTheBitsOfTheOpsOneByOne) {
  const auto& [hidden, cols, kind] = GetParam();
  const Kind gate = make(kind, hidden, cols);
  const Kind up = make(kind, hidden, cols);
  const Kind down = make(kind, 48, hidden);
  for (const int64_t tokens : {1, 3, 8, 9, 20, 33, 70, 96, 130})
    compare(random_.normals(tokens * cols), tokens, gate.placed, up.placed, down.placed, gate.name);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, LinearGatedRowsCuda,
    ::testing::ValuesIn(with_all_kinds({{72, 1152}, {200, 1152}, {640, 1152}})), name_of_case);

struct CodesCase {
  int64_t hidden;
  Layout layout;
};

class LinearGatedCodesCuda : public LinearGatedCuda,
                             public ::testing::WithParamInterface<CodesCase> {};

TEST_P(LinearGatedCodesCuda, GiveTheBitsOfTheOpsOneByOne) {
  constexpr int64_t kCols = 1280;
  const auto [hidden, layout] = GetParam();
  for (const int64_t tokens : {1, 5, 9, 40, 100, 200}) {
    const std::vector<float> x = random_.normals(tokens * kCols);
    const std::vector<Placed> downs =
        hidden % 256 == 0 ? std::vector{coded(layout, 48, hidden), coded(Layout::kQ8_0, 48, hidden)}
                          : std::vector{coded(Layout::kF16, 48, hidden)};
    const Placed gate = coded(layout, hidden, kCols);
    const Placed up = coded(layout, hidden, kCols);
    for (const Placed& down : downs)
      compare(x, tokens, gate, up, down, std::string(info(layout).name));
  }
}

std::vector<CodesCase> codes_cases() {
  std::vector<CodesCase> cases;
  for (const int64_t hidden : {40, 512, 768})
    for (const Layout layout : {Layout::kQ4_0, Layout::kQ8_0, Layout::kQ4_K, Layout::kQ6_K,
                                Layout::kIQ4_XS, Layout::kIQ2_S, Layout::kMXFP4})
      cases.push_back({hidden, layout});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Codes, LinearGatedCodesCuda, ::testing::ValuesIn(codes_cases()),
                         [](const auto& one) {
                           return std::to_string(one.param.hidden) + "_" +
                                  test_name(ingot::info(one.param.layout).name);
                         });

// An input that is packed as it is made is there for linears that read another form, and for the
// host.
TEST_F(LinearGatedCuda, InputsAreThereInEveryForm) {
  constexpr int64_t kTokens = 40;
  constexpr int64_t kRows = 64;
  for (const int64_t cols : {512, 2048}) {
    const std::vector<float> x = random_.normals(kTokens * cols);
    const std::vector<float> branch = random_.normals(kTokens * cols);
    const std::vector<float> weight = random_.normals(cols);
    const std::array placed{coded(Layout::kQ4_K, kRows, cols), coded(Layout::kF16, kRows, cols),
                            coded(Layout::kBF16, kRows, cols)};
    std::array<Linear, 3> linears;
    std::array<LinearOutput, 3> outputs;
    constexpr std::array kBuffers{Buffer::kQ, Buffer::kK, Buffer::kV};
    ops_->begin({});
    float* own_x = ops_->buffer(Buffer::kHidden, std::ssize(x));
    float* own_branch = ops_->buffer(Buffer::kBranch, std::ssize(x));
    float* normed = ops_->buffer(Buffer::kNormed, std::ssize(x));
    ops_->write(own_x, x);
    ops_->write(own_branch, branch);
    ops_->write(normed, poisoned(kTokens * cols));
    ops_->add_and_normalize(own_x, own_branch, 0.5F, {NormKind::kRms, 1e-5F, weight, {}}, normed,
                            kTokens, cols);
    ops_->set_input(InputSlot::kBranch, normed, kTokens, cols);
    for (size_t i = 0; i < 3; ++i) {
      linears[i] = Linear::placed(placed[i]);
      outputs[i] = {&linears[i], ops_->buffer(kBuffers[i], kTokens * kRows), kRows};
      ops_->write(outputs[i].y, poisoned(kTokens * kRows));
    }
    ops_->run_linears(InputSlot::kBranch, outputs);
    std::array<std::vector<float>, 3> together;
    for (size_t i = 0; i < 3; ++i) {
      together[i].resize(kTokens * kRows);
      ASSERT_TRUE(ops_->read(outputs[i].y, together[i]).is_ok());
    }
    std::vector<float> made(x.size());
    ASSERT_TRUE(ops_->read(normed, made).is_ok());
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(together[i], on_gpu(placed[i], made, kTokens)) << i;
  }
}

// Weights that do not go together, and functions that are not fused.
TEST_F(LinearGatedCuda, OtherPairsGoOneByOne) {
  const std::vector<float> x = random_.normals(3 * 256);
  const Placed down = coded(Layout::kF16, 16, 128);
  compare(x, 3, coded(Layout::kF16, 128, 256), coded(Layout::kBF16, 128, 256), down, "mixed");
}

}  // namespace
}  // namespace ingot
