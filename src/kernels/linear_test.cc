// SPDX-License-Identifier: Apache-2.0
// The kernels of linear layers beside their references, and beside themselves in other cuts.
#include "kernels/linear.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "blocks/elements.h"
#include "kernels/input_rounding.h"
#include "kernels/test_linear.h"

namespace ingot {
namespace {

// y [tokens, rows] of one kernel, rows in pieces of `piece`, all tokens at once.
std::vector<float> run(const LinearKernel& kernel, const Problem& problem, int64_t piece) {
  ThreadPool pool(1);
  const Exec exec(pool);
  Activations x(TargetSet::scalar_only());
  x.set(problem.x.data(), problem.tokens, problem.cols);
  std::vector<float> y = poisoned(problem.tokens * problem.rows);
  LinearArgs args{
      .layout = problem.layout,
      .weights = problem.weights.data(),
      .weight_stride =
          problem.quant != nullptr ? 0 : static_cast<int64_t>(problem.view().row_bytes()),
      .rows = problem.rows,
      .cols = problem.cols,
      .x = x.rows(kernel.activation_of(x.tokens()), exec),
      .tokens = problem.tokens,
      .y = y.data(),
      .y_stride = problem.rows,
      .bias = problem.bias.data(),
  };
  std::vector<std::byte> packed;
  if (kernel.packing != Packing::kRows) {
    const PanelSource source{
        problem.layout, args.weights, args.weight_stride,
        problem.rows,   problem.cols, problem.quant != nullptr ? &problem.quant->tensor : nullptr};
    const int64_t panels = (problem.rows + kPanelRows - 1) / kPanelRows;
    args.weight_stride = panel_shape(kernel.packing, problem.cols).panel;
    packed.resize(static_cast<size_t>(panels * args.weight_stride), std::byte{0xFF});
    pack_panels(source, kernel.packing, 0, panels, packed.data());
    args.weights = packed.data();
  }
  for (int64_t row = 0; row < problem.rows; row += piece)
    kernel.run(args, row, std::min(row + piece, problem.rows));
  return y;
}

const LinearKernel* reference_of(Packing packing) {
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.packing == packing && kernel.target == Target::kScalar) return &kernel;
  }
  return nullptr;
}

bool is_float(ActivationLayout layout) {
  return layout == ActivationLayout::kF32 || layout == ActivationLayout::kBF16;
}

// The kinds of weights a kernel takes.
std::vector<Kind> kinds_of(const LinearKernel& kernel) {
  if (is_quant_packing(kernel.packing)) return {{Layout::kU8, kernel.packing}};
  std::vector<Kind> kinds;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    const LinearKernel* any = choose_linear(layout, 256, TargetSet::scalar_only());
    if (any == nullptr) continue;
    // Where a target multiplies them.
    if (kernel.packing == Packing::kBF16Pairs && layout == Layout::kBF16)
      kinds.push_back({layout, Packing::kRows});
    const bool is_16_bits = layout == Layout::kF16 || layout == Layout::kBF16;
    if (kernel.packing == Packing::kF16Words && is_16_bits)
      kinds.push_back({layout, Packing::kF16Words});
    if (any->packing == kernel.packing) kinds.push_back({layout, Packing::kRows});
  }
  return kinds;
}

struct Extent {
  int64_t rows;
  int64_t cols;
  int64_t tokens;
};

// Sizes that fit the layout: odd ones for plain elements, whole blocks otherwise.
std::vector<Extent> extents(const Kind& kind) {
  const int64_t unit = kind.unit();
  if (unit == 1) return {{1, 1, 1}, {7, 130, 5}, {5, 1031, 2}, {45, 96, 43}};
  if (unit < 256) return {{1, unit, 1}, {7, 3 * unit, 5}, {45, 15 * unit, 43}, {9, 2048, 3}};
  return {{1, 256, 1}, {7, 768, 5}, {45, 512, 43}, {9, 2048, 3}};
}

bool is_weight_layout(Layout layout) {
  if (layout == Layout::kBool || layout == Layout::kC64) return false;
  return layout < Layout::kI8 || layout > Layout::kU64;
}

TEST(Linear, EveryListedKernelMatchesTheReference) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const Kind& kind : kinds_of(kernel)) {
      for (const auto [rows, cols, tokens] : extents(kind)) {
        SCOPED_TRACE(
            fmt::format("{} of {} {}x{} by {}", kernel.name, kind.name(), rows, cols, tokens));
        if (!kind.is_quant() && packing_of(kind.layout, cols) == Packing::kRows &&
            kernel.packing != Packing::kRows)
          continue;  // too narrow for it
        const LinearKernel* truth = reference_of(kernel.packing);
        ASSERT_NE(truth, nullptr);
        ASSERT_EQ(truth->activation, kernel.activation) << "not the same arithmetic";
        const Problem problem(random, kind, rows, cols, tokens);
        const std::vector<float> expected = run(*truth, problem, rows);
        const std::vector<float> actual = run(kernel, problem, rows);
        for (int64_t token = 0; token < tokens; ++token) {
          for (int64_t row = 0; row < rows; ++row) {
            const auto i = static_cast<size_t>(token * rows + row);
            if (is_float(kernel.activation)) {
              ASSERT_NEAR(actual[i], expected[i], bound(problem, token, row, kernel.activation));
            } else {  // whole numbers and one order of rounding: the same bits
              ASSERT_EQ(actual[i], expected[i]) << "token " << token << " row " << row;
            }
          }
        }
      }
    }
  }
}

TEST(Linear, ReferencesStayNearTheDecodedWeights) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.target != Target::kScalar) continue;
    for (const Kind& kind : kinds_of(kernel)) {
      SCOPED_TRACE(fmt::format("{} of {}", kernel.name, kind.name()));
      const Problem problem(random, kind, 21, 768, 3);
      const std::vector<float> actual = run(kernel, problem, problem.rows);
      for (int64_t token = 0; token < problem.tokens; ++token) {
        for (int64_t row = 0; row < problem.rows; ++row) {
          double sum = static_cast<double>(problem.bias[static_cast<size_t>(row)]);
          for (int64_t col = 0; col < problem.cols; ++col) {
            sum += static_cast<double>(problem.weight(row, col)) *
                   static_cast<double>(problem.input(token, col));
          }
          ASSERT_NEAR(actual[static_cast<size_t>(token * problem.rows + row)], sum,
                      bound(problem, token, row, kernel.activation));
        }
      }
    }
  }
}

// An input of one 1 among zeros brings out a single weight: packing loses nothing of it, but for
// what lies below 14 bits of F16 as whole numbers. What is left are roundings of the input's scale,
// and of a minimum that is as large as the largest weight.
TEST(Linear, PackedWeightsAreTheDecodedOnes) {
  Random random(test_seed());
  const int64_t cols = 256;
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.target != Target::kScalar || is_quant_packing(kernel.packing)) continue;
    for (const Kind& kind : kinds_of(kernel)) {
      SCOPED_TRACE(fmt::format("{} of {}", kernel.name, kind.name()));
      Problem problem(random, kind, 17, cols, cols);
      std::ranges::fill(problem.x, 0.0F);
      std::ranges::fill(problem.bias, 0.0F);
      for (int64_t col = 0; col < cols; ++col)
        problem.x[static_cast<size_t>(col * cols + col)] = 1;
      const std::vector<float> y = run(kernel, problem, problem.rows);
      const float lost = kernel.packing == Packing::kF16Words ? 0x1p-13F : 0;
      for (int64_t row = 0; row < problem.rows; ++row) {
        float largest = 0;
        for (int64_t col = 0; col < cols; ++col)
          largest = std::max(largest, std::fabs(problem.weight(row, col)));
        for (int64_t col = 0; col < cols; ++col)
          ASSERT_NEAR(y[static_cast<size_t>(col * problem.rows + row)], problem.weight(row, col),
                      (16 * kEpsilon + lost) * largest)
              << "row " << row << ", column " << col;
      }
    }
  }
}

TEST(Linear, EveryWeightLayoutHasAKernelOnEveryMachine) {
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    for (const TargetSet targets : {TargetSet::scalar_only(), TargetSet::of_this_machine()}) {
      for (const int64_t blocks : {1, 3, 8}) {
        const LinearKernel* kernel =
            choose_linear(layout, blocks * info(layout).block_elements, targets);
        EXPECT_EQ(kernel != nullptr, is_weight_layout(layout)) << info(layout).name;
        EXPECT_TRUE(kernel == nullptr || targets.has(kernel->target));
      }
    }
  }
}

// The smallest too, which are denormals of e4m3 but not of what they are multiplied as.
TEST(Linear, EveryCodeOfE4m3IsMultipliedAsWhatItIs) {
  Random random(test_seed());
  auto quant = std::make_shared<RandomQuant>();
  QuantTensor& tensor = quant->tensor;
  tensor.rows = 2;
  tensor.cols = 128;
  tensor.scheme.bits = 8;
  tensor.scheme.meaning = CodeMeaning::kE4m3;
  tensor.scheme.group_columns = 128;
  tensor.scales = {0.5F, 4};
  for (int code = 0; code < 256; ++code)
    quant->codes.push_back(static_cast<std::byte>(code % 128 == 127 ? 0 : code));
  tensor.codes = quant->codes;
  Problem problem(random, Kind{Layout::kU8, Packing::kF8}, 2, 128, 128);
  problem.quant = quant;
  problem.bias = {0, 0};
  problem.x.assign(problem.x.size(), 0);
  for (size_t i = 0; i < 128; ++i)
    problem.x[i * 128 + i] = 1;  // a token for each column
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!is_e4m3(kernel.packing) || !TargetSet::of_this_machine().has(kernel.target)) continue;
    SCOPED_TRACE(kernel.name);
    const std::vector<float> y = run(kernel, problem, 2);
    for (size_t code = 0; code < 256; ++code) {
      const float value = to_float(Float8E4M3{std::to_integer<uint8_t>(quant->codes[code])});
      EXPECT_EQ(y[code % 128 * 2 + code / 128], value * tensor.scales[code / 128]) << code;
    }
  }
}

// One token at a time, pieces of the rows and any number of threads give the bits of the whole.
TEST(Linear, OutputsDependOnNothingButTheirRowAndToken) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    if (kernel.target == Target::kScalar) continue;  // one output at a time, and slow
    const Kind kind = kinds_of(kernel).front();
    SCOPED_TRACE(kernel.name);
    const int64_t cols = kind.unit() == 1 ? 1101 : 1280;
    const Problem problem(random, kind, 53, cols, 43);  // as many as pass over a tile
    const std::vector<float> whole = run(kernel, problem, problem.rows);
    EXPECT_EQ(whole, run(kernel, problem, 16));
    EXPECT_EQ(whole, run(kernel, problem, 48));
    for (int64_t tokens = 1; tokens < 16; ++tokens) {
      Problem part = problem;
      part.tokens = tokens;
      const int64_t first = random.whole(0, problem.tokens - tokens);
      part.x.erase(part.x.begin(), part.x.begin() + first * cols);
      const std::vector<float> alone = run(kernel, part, problem.rows);
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + first * problem.rows))
          << tokens << " tokens";
    }
  }
}

// The largest weights by inputs that are all as large as they can be: sums of words would wrap.
TEST(Linear, SumsOfWordsDoNotWrap) {
  constexpr int64_t kCols = 256;
  const std::vector<uint16_t> halves(16 * kCols, 0x3FFF);  // just below 2
  const std::vector<float> x(40 * kCols, -3.0F);
  for (const LinearKernel& kernel : linear_kernels()) {
    if (kernel.packing != Packing::kF16Words) continue;
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    SCOPED_TRACE(kernel.name);
    std::vector<std::byte> panel(static_cast<size_t>(panel_shape(Packing::kF16Words, kCols).panel) +
                                 64);
    const PanelSource source{Layout::kF16, reinterpret_cast<const std::byte*>(halves.data()),
                             2 * kCols, 16, kCols};
    pack_panels(source, Packing::kF16Words, 0, 1, panel.data());
    ThreadPool pool(1);
    const Exec exec(pool);
    for (const int64_t tokens : {int64_t{1}, int64_t{40}}) {
      Activations activations(TargetSet::of_this_machine());
      activations.set(x.data(), tokens, kCols);
      std::vector<float> y(static_cast<size_t>(tokens * 16));
      kernel.run({.layout = Layout::kF16,
                  .weights = panel.data(),
                  .weight_stride = panel_shape(Packing::kF16Words, kCols).panel,
                  .rows = 16,
                  .cols = kCols,
                  .x = activations.rows(kernel.activation_of(tokens), exec),
                  .tokens = tokens,
                  .y = y.data(),
                  .y_stride = 16,
                  .bias = nullptr},
                 0, 16);
      for (const float value : y)
        EXPECT_NEAR(value, -3.0F * 256 * (2 - 0x1p-10F), 0.5F);
    }
  }
}

// The same of kernels that walk in blocks of tokens, rows and columns: more of each than a block,
// and numbers that leave every kind of remainder, against a few tokens at a time.
TEST(Linear, BlocksOfManyTokensGiveTheSameBits) {
  Random random(test_seed());
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target) || kernel.many_tokens == 0) continue;
    SCOPED_TRACE(kernel.name);
    const Problem problem(random, kinds_of(kernel).front(), 150, 1280, 523);
    const std::vector<float> whole = run(kernel, problem, problem.rows);
    EXPECT_EQ(whole, run(kernel, problem, 48));
    for (int64_t first = 0; first < problem.tokens; first += 23) {
      Problem part = problem;
      part.tokens = std::min<int64_t>(23, problem.tokens - first);
      part.x.erase(part.x.begin(), part.x.begin() + first * problem.cols);
      const std::vector<float> few = run(kernel, part, problem.rows);
      EXPECT_TRUE(std::equal(few.begin(), few.begin() + part.tokens * problem.rows,
                             whole.begin() + first * problem.rows))
          << "from token " << first;
    }
  }
}

// Wide rows pass in pieces of columns, with more of them than sums wait for at a time. The walk is
// that of a target and its inputs.
TEST(Linear, PiecesOfColumnsGiveTheSameBits) {
  Random random(test_seed());
  std::set<std::pair<Target, ActivationLayout>> walked;
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target) || kernel.target == Target::kScalar)
      continue;
    if (!walked.emplace(kernel.target, kernel.activation_of(44)).second) continue;
    SCOPED_TRACE(kernel.name);
    const Problem problem(random, kinds_of(kernel).front(), 272, 5120, 44);
    const std::vector<float> whole = run(kernel, problem, problem.rows);
    for (const int64_t first : {0, 21, 42}) {
      Problem part = problem;
      part.tokens = 2;
      part.x.erase(part.x.begin(), part.x.begin() + first * problem.cols);
      const std::vector<float> few = run(kernel, part, problem.rows);
      EXPECT_TRUE(std::equal(few.begin(), few.begin() + part.tokens * problem.rows,
                             whole.begin() + first * problem.rows))
          << "from token " << first;
    }
  }
}

}  // namespace
}  // namespace ingot
