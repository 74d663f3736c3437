// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "blocks/elements.h"
#include "kernels/input_rounding.h"
#include "kernels/test_quant.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

// What a kernel multiplies: a layout of GGUF or safetensors, or a packing of weights whose scales
// lie apart.
struct Kind {
  Layout layout = Layout::kU8;
  Packing packing = Packing::kRows;
  bool is_quant() const { return is_quant_packing(packing); }
  int64_t unit() const {
    if (is_e4m3(packing)) return 1;
    if (packing == Packing::kF16Words) return kBlockColumns;
    return is_quant() ? 32 : static_cast<int64_t>(info(layout).block_elements);
  }
  std::string name() const {
    return is_quant() ? info(packing).name : std::string(info(layout).name);
  }
};

// A weight matrix with inputs and a bias, decoded as well.
struct Problem {
  Problem(Random& random, const Kind& kind, int64_t row_count, int64_t col_count,
          int64_t token_count)
      : layout(kind.layout),
        rows(row_count),
        cols(col_count),
        tokens(token_count),
        x(random.normals(token_count * col_count)),
        bias(random.normals(row_count)),
        decoded(static_cast<size_t>(row_count * col_count)) {
    if (kind.is_quant()) {
      quant = std::make_shared<RandomQuant>(random_quant(random, kind.packing, rows, cols));
      for (int64_t row = 0; row < rows; ++row)
        dequantize_row(
            quant->tensor, row,
            std::span(decoded).subspan(static_cast<size_t>(row * cols), static_cast<size_t>(cols)));
    } else {
      weights = random.weights(layout, rows * cols);
      dequantize(layout, weights, decoded);
    }
  }
  Problem(Random& random, Layout kind, int64_t row_count, int64_t col_count, int64_t token_count)
      : layout(kind),
        rows(row_count),
        cols(col_count),
        tokens(token_count),
        weights(random.weights(kind, row_count * col_count)),
        x(random.normals(token_count * col_count)),
        bias(random.normals(row_count)),
        decoded(static_cast<size_t>(row_count * col_count)) {
    dequantize(layout, weights, decoded);
  }

  TensorView view() const {
    return {layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)}, weights};
  }
  float weight(int64_t row, int64_t col) const {
    return decoded[static_cast<size_t>(row * cols + col)];
  }
  float input(int64_t token, int64_t col) const {
    return x[static_cast<size_t>(token * cols + col)];
  }

  Layout layout;
  int64_t rows;
  int64_t cols;
  int64_t tokens;
  std::vector<std::byte> weights;
  std::vector<float> x;
  std::vector<float> bias;
  std::vector<float> decoded;
  std::shared_ptr<const RandomQuant> quant;  // in place of `weights`, or null
};

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
    if (kernel.packing == Packing::kF16Words && layout == Layout::kF16)
      kinds.push_back({layout, Packing::kF16Words});
    if (any->packing == kernel.packing) kinds.push_back({layout, Packing::kRows});
  }
  return kinds;
}

// Any order of n products and sums in float stays within n * eps / 2 of their magnitudes' sum;
// twice that covers the higher orders. `quantum` adds what rounding the inputs to codes may change.
float bound(const Problem& problem, int64_t token, int64_t row, ActivationLayout activation) {
  double magnitude = std::fabs(static_cast<double>(problem.bias[static_cast<size_t>(row)]));
  double quantized = 0;
  const bool is_plain =
      activation == ActivationLayout::kF32 || activation == ActivationLayout::kBF16;
  const bool is_words = activation == ActivationLayout::kI16G64;
  const int64_t group = is_plain ? problem.cols : activation_group(activation);
  for (int64_t first = 0; first < problem.cols; first += group) {
    float largest = 0;
    float heaviest = 0;
    double weights = 0;
    double inputs = 0;
    for (int64_t col = first; col < first + group; ++col) {
      const float x = std::fabs(problem.input(token, col));
      const float w = std::fabs(problem.weight(row, col));
      largest = std::max(largest, x);
      heaviest = std::max(heaviest, w);
      weights += static_cast<double>(w);
      inputs += static_cast<double>(x);
      magnitude += static_cast<double>(w) * static_cast<double>(x);
    }
    const double most = is_words ? kMostOfI16G64 : 127;
    if (!is_plain) quantized += weights * static_cast<double>(largest) / most * 0.5001;
    // Half of the last of 14 bits of the weights too.
    if (is_words) quantized += inputs * static_cast<double>(heaviest) * 0x1.01p-13;
  }
  // Affine layouts subtract sums that are up to some sixteen times as large as their difference.
  const double sums = is_plain ? 1 : 32;
  if (activation == ActivationLayout::kBF16) quantized = magnitude / 256;  // half a step in 8 bits
  const auto rounded =
      static_cast<double>(kEpsilon) * static_cast<double>(problem.cols + 8) * magnitude * sums;
  return static_cast<float>(rounded + quantized);
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

TEST(Linear, ThreadsChangeNothing) {
  Random random(test_seed());
  for (const Layout layout : {Layout::kF32, Layout::kBF16, Layout::kQ4_K, Layout::kQ8_0}) {
    const Problem problem(random, Kind{layout}, 150, 512, 7);
    WeightMemory memory;
    ThreadPool packers(2);
    const auto linear = Linear::bind(problem.view(), problem.bias, TargetSet::of_this_machine(),
                                     memory, Exec(packers));
    ASSERT_TRUE(linear.is_ok());
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      const Exec exec(pool);
      Activations x(TargetSet::of_this_machine());
      x.set(problem.x.data(), problem.tokens, problem.cols);
      std::vector<float> y = poisoned(problem.tokens * 160);
      linear->run(exec, x, y.data(), 160);
      for (int64_t token = 0; token < problem.tokens; ++token) {
        for (int64_t i = 150; i < 160; ++i) {
          float& beyond = y[static_cast<size_t>(token * 160 + i)];
          EXPECT_TRUE(std::isnan(beyond)) << "wrote past the last row";
          beyond = 0;
        }
      }
      if (first.empty()) first = y;
      EXPECT_EQ(y, first) << threads << " threads";
    }
  }
}

// q, k and v in one pass are what they are one by one.
TEST(Linear, SeveralTogetherGiveTheSameBits) {
  Random random(test_seed());
  const Problem first(random, Kind{Layout::kQ4_K}, 100, 512, 3);
  const Problem second(random, Kind{Layout::kQ6_K}, 40, 512, 3);
  const Problem third(random, Kind{Layout::kF16}, 7, 512, 3);
  WeightMemory memory;
  ThreadPool pool(3);
  const Exec exec(pool);
  Activations x(TargetSet::of_this_machine());
  x.set(first.x.data(), first.tokens, first.cols);
  std::vector<Linear> linears;
  std::vector<std::vector<float>> alone;
  std::vector<std::vector<float>> together;
  for (const Problem* problem : {&first, &second, &third}) {
    auto linear =
        Linear::bind(problem->view(), problem->bias, TargetSet::of_this_machine(), memory, exec);
    ASSERT_TRUE(linear.is_ok());
    linears.push_back(*linear);
    alone.push_back(poisoned(3 * problem->rows));
    together.push_back(poisoned(3 * problem->rows));
    linears.back().run(exec, x, alone.back().data(), problem->rows);
  }
  std::vector<LinearOutput> outputs;
  for (size_t i = 0; i < 3; ++i)
    outputs.push_back({&linears[i], together[i].data(), linears[i].rows()});
  run_linears(exec, x, outputs);
  EXPECT_EQ(together, alone);
}

// A GPTQ weight with columns in the order of their groups: the inputs are put in order as well.
TEST(Linear, SortedColumnsTakeSortedInputs) {
  Random random(test_seed());
  const Problem plain(random, Kind{Layout::kU8, Packing::kGroups4Zero}, 40, 512, 5);
  QuantTensor sorted = plain.quant->tensor;
  ColumnOrder order(512);
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = static_cast<int32_t>((i * 37 + 11) % 512);
  sorted.column_order = std::make_shared<const ColumnOrder>(order);
  WeightMemory memory;
  ThreadPool pool(2);
  const Exec exec(pool);
  const auto linear = Linear::bind(sorted, plain.bias, TargetSet::of_this_machine(), memory, exec);
  ASSERT_TRUE(linear.is_ok()) << linear.status().message();
  Activations input(TargetSet::of_this_machine());
  input.set(plain.x.data(), plain.tokens, plain.cols);
  std::vector<float> y = poisoned(plain.tokens * plain.rows);
  linear->run(exec, input, y.data(), plain.rows);
  Problem moved = plain;
  for (int64_t row = 0; row < plain.rows; ++row)
    dequantize_row(sorted, row,
                   std::span(moved.decoded).subspan(static_cast<size_t>(row * plain.cols), 512));
  for (int64_t token = 0; token < plain.tokens; ++token) {
    for (int64_t row = 0; row < plain.rows; ++row) {
      double sum = static_cast<double>(plain.bias[static_cast<size_t>(row)]);
      double slack = 0;  // the largest input of any group
      float largest = 0;
      for (int64_t col = 0; col < plain.cols; ++col) {
        sum += static_cast<double>(moved.weight(row, col)) *
               static_cast<double>(moved.input(token, col));
        slack += static_cast<double>(std::fabs(moved.weight(row, col)));
        largest = std::max(largest, std::fabs(moved.input(token, col)));
      }
      slack *= static_cast<double>(largest) / 127 * 0.51;
      ASSERT_NEAR(y[static_cast<size_t>(token * plain.rows + row)], sum, slack);
    }
  }
}

std::vector<TargetSet> target_sets() {
  const TargetSet all = TargetSet::of_this_machine();
  const TargetSet without_bf16 = all.without(Target::kAmx).without(Target::kAvx512Bf16);
  return {all, without_bf16, without_bf16.without(Target::kAvx512), TargetSet::scalar_only()};
}

std::vector<float> outputs_of(const QuantTensor& tensor, const Problem& problem,
                              TargetSet targets) {
  WeightMemory memory;
  ThreadPool pool(2);
  const Exec exec(pool);
  const auto linear = Linear::bind(tensor, problem.bias, targets, memory, exec);
  EXPECT_TRUE(linear.is_ok()) << linear.status().message();
  Activations input(targets);
  input.set(problem.x.data(), problem.tokens, problem.cols);
  std::vector<float> y = poisoned(problem.tokens * problem.rows);
  linear->run(exec, input, y.data(), problem.rows);
  return y;
}

// W8A8 and FP8: the products of what the inputs are rounded to, and nothing else rounded but sums.
// A token's outputs are the same when it comes alone.
TEST(Linear, RoundedInputsAreMultipliedAsTheyAre) {
  Random random(test_seed());
  const InputQuant int8{.kind = InputKind::kInt8};
  const InputQuant fp8{.kind = InputKind::kE4m3};
  std::vector<std::pair<Packing, InputQuant>> cases = {
      {Packing::kGroups8Zero, int8}, {Packing::kF8, fp8}, {Packing::kF8, fp8}};
  cases.back().second.block = 128;
  for (const bool is_static : {false, true}) {
    InputQuant quant = int8;
    quant.is_symmetric = false;
    if (is_static) quant.scale = 0.03F, quant.zero = 21;
    cases.emplace_back(Packing::kGroups8Zero, quant);
  }
  for (auto& [packing, quant] : cases) {
    const Problem problem(random, Kind{Layout::kU8, packing}, 37, 416, 45);
    QuantTensor tensor = problem.quant->tensor;
    tensor.input = quant;
    std::vector<float> rounded(problem.x.size());
    choose_round(ActivationLayout::kF32, quant, TargetSet::scalar_only())
        ->run(
            {problem.x.data(), 416, &quant, reinterpret_cast<std::byte*>(rounded.data()), nullptr},
            0, problem.tokens);
    for (const TargetSet targets : target_sets()) {
      SCOPED_TRACE(fmt::format("{} on {}", info(packing).name, targets.to_string()));
      const std::vector<float> y = outputs_of(tensor, problem, targets);
      for (int64_t token = 0; token < problem.tokens; ++token) {
        for (int64_t row = 0; row < problem.rows; ++row) {
          double sum = static_cast<double>(problem.bias[static_cast<size_t>(row)]);
          double magnitude = std::fabs(sum);
          float largest = 0;
          double weights = 0;
          for (int64_t col = 0; col < problem.cols; ++col) {
            const auto x = static_cast<double>(rounded[static_cast<size_t>(token * 416 + col)]);
            const auto w = static_cast<double>(problem.weight(row, col));
            sum += w * x;
            magnitude += std::fabs(w * x);
            weights += std::fabs(w);
            largest = std::max(largest, static_cast<float>(std::fabs(x)));
          }
          // Zero points come off sums that are up to twice the largest input times the weights.
          if (quant.has_zero()) magnitude += 4 * weights * static_cast<double>(largest);
          ASSERT_NEAR(y[static_cast<size_t>(token * problem.rows + row)], sum,
                      static_cast<double>(kEpsilon) * 416 * magnitude)
              << "token " << token << " row " << row;
        }
      }
      Problem alone = problem;
      alone.tokens = 1;
      alone.x.erase(alone.x.begin(), alone.x.begin() + 44 * 416);
      const std::vector<float> last = outputs_of(tensor, alone, targets);
      EXPECT_TRUE(std::equal(last.begin(), last.end(), y.begin() + 44 * problem.rows));
    }
  }
}

// e2m1 with an e4m3 scale for 16 columns and one for all: the packing of GGUF's NVFP4.
TEST(Linear, ScalesOfSixteenColumnsAndOfTheTensorAreKept) {
  Random random(test_seed());
  RandomQuant quant;
  QuantTensor& tensor = quant.tensor;
  tensor.rows = 24;
  tensor.cols = 352;
  tensor.scheme = {CodeMeaning::kE2m1, CodeOrder::kRows, 4, 16};
  tensor.tensor_scale = 1 / 1234.5F;
  for (int64_t i = 0; i < tensor.rows * tensor.cols / 2; ++i)
    quant.codes.push_back(static_cast<std::byte>(random.whole(0, 255)));
  tensor.codes = quant.codes;
  for (int64_t i = 0; i < tensor.rows * tensor.groups(); ++i) {  // zero, denormals and all others
    const auto code = static_cast<uint8_t>(random.whole(0, 126));
    tensor.scales.push_back(to_float(Float8E4M3{code}) / 1234.5F);
  }
  EXPECT_EQ(packing_of(tensor), Packing::kGroupsNvfp4);
  Problem problem(random, Kind{Layout::kF32}, 24, 352, 352);
  std::ranges::fill(problem.x, 0.0F);
  for (size_t i = 0; i < 352; ++i)
    problem.x[i * 352 + i] = 1;  // brings out a column
  for (const TargetSet targets : target_sets()) {
    SCOPED_TRACE(targets.to_string());
    const std::vector<float> y = outputs_of(tensor, problem, targets);
    std::vector<float> row(352);
    for (int64_t r = 0; r < 24; ++r) {
      dequantize_row(tensor, r, row);
      for (size_t col = 0; col < 352; ++col) {
        const float bias = problem.bias[static_cast<size_t>(r)];
        ASSERT_NEAR(y[col * 24 + static_cast<size_t>(r)], row[col] + bias,
                    4 * kEpsilon * (std::fabs(row[col]) + std::fabs(bias)));
      }
    }
  }
}

// Groups that are no multiples of 32, scales that are no powers: decoded, and nothing is lost.
TEST(Linear, SchemesWithoutAPackingAreDecodedToFloats) {
  Random random(test_seed());
  WeightMemory memory;
  ThreadPool pool(2);
  const Exec exec(pool);
  for (const auto meaning : {CodeMeaning::kAffine, CodeMeaning::kE4m3, CodeMeaning::kE5m2}) {
    RandomQuant quant;
    QuantTensor& tensor = quant.tensor;
    tensor.rows = 20;
    tensor.cols = 72;
    tensor.scheme = {meaning, CodeOrder::kRows, 8, 24};
    for (int64_t i = 0; i < tensor.rows * tensor.cols; ++i)
      quant.codes.push_back(static_cast<std::byte>(random.whole(0, 120)));
    tensor.codes = quant.codes;
    tensor.scales.assign(60, meaning == CodeMeaning::kE5m2 ? 0.25F : 0.3F);
    tensor.zeros.assign(60, 77);
    Problem problem(random, Kind{Layout::kF32}, 20, 72, 3);
    for (int64_t row = 0; row < 20; ++row)
      dequantize_row(tensor, row,
                     std::span(problem.decoded).subspan(static_cast<size_t>(row * 72), 72));
    for (const TargetSet targets : target_sets()) {
      const auto linear = Linear::bind(tensor, {}, targets, memory, exec);
      ASSERT_TRUE(linear.is_ok()) << linear.status().message();
      EXPECT_TRUE(linear->is_decoded());
      const ActivationLayout activation = linear->kernel().activation;
      const std::vector<float> y = outputs_of(tensor, problem, targets);
      for (int64_t i = 0; i < 60; ++i) {
        const int64_t row = i % 20;
        double sum = static_cast<double>(problem.bias[static_cast<size_t>(row)]);
        for (int64_t col = 0; col < 72; ++col)
          sum += static_cast<double>(problem.weight(row, col)) *
                 static_cast<double>(problem.input(i / 20, col));
        ASSERT_NEAR(y[static_cast<size_t>(i)], sum, bound(problem, i / 20, row, activation));
      }
    }
  }
}

// Rounded to another float as it is packed: as if the file had held that.
TEST(Linear, ACastWeightIsWhatTheFileWouldHoldInThatLayout) {
  Random random(test_seed());
  WeightMemory memory;
  ThreadPool pool(2);
  const Exec exec(pool);
  const TargetSet targets = TargetSet::of_this_machine();
  for (const Layout from : {Layout::kF32, Layout::kF16, Layout::kBF16, Layout::kF64}) {
    for (const Layout to : {Layout::kF16, Layout::kBF16}) {
      SCOPED_TRACE(fmt::format("{} to {}", info(from).name, info(to).name));
      const Problem problem(random, Kind{from}, 37, 75, 3);
      Problem rounded = problem;
      rounded.layout = to;
      rounded.weights.resize(problem.decoded.size() * info(to).block_bytes);
      encode_elements(to, problem.decoded, rounded.weights);
      std::vector<float> outputs[2];
      for (const bool is_cast : {true, false}) {
        const auto linear =
            is_cast
                ? Linear::bind(problem.view(), problem.bias, targets, memory, exec, {.cast = to})
                : Linear::bind(rounded.view(), rounded.bias, targets, memory, exec);
        ASSERT_TRUE(linear.is_ok()) << linear.status().message();
        Activations x(targets);
        x.set(problem.x.data(), problem.tokens, problem.cols);
        outputs[is_cast] = poisoned(problem.tokens * problem.rows);
        linear->run(exec, x, outputs[is_cast].data(), problem.rows);
      }
      EXPECT_EQ(outputs[0], outputs[1]);
    }
  }
}

TEST(Linear, ACastThatWouldOverflowIsRefused) {
  std::vector<float> weights(64, 1.0F);
  const TensorView view{Layout::kF32, Shape{4, 16}, std::as_bytes(std::span(weights))};
  WeightMemory memory;
  ThreadPool pool(1);
  const auto bind = [&](Layout to) {
    return Linear::bind(view, {}, TargetSet::of_this_machine(), memory, Exec(pool), {.cast = to});
  };
  weights[40] = 65519;  // rounds down to the largest half
  EXPECT_TRUE(bind(Layout::kF16).is_ok());
  weights[40] = -65520;
  EXPECT_EQ(bind(Layout::kF16).status().code(), StatusCode::kInvalidData);
  EXPECT_TRUE(bind(Layout::kBF16).is_ok());
}

// Where memory is short, weights that panels would make much larger stay in the file.
TEST(Linear, OnlyWeightsThatOutgrowTheirFileAreKeptAsRows) {
  Random random(test_seed());
  WeightMemory memory;
  ThreadPool pool(1);
  for (const Layout layout : {Layout::kIQ2_XS, Layout::kQ4_K}) {
    const Problem problem(random, Kind{layout}, 20, 256, 1);
    const auto bind = [&](bool keeps_rows) {
      return Linear::bind(problem.view(), {}, TargetSet::of_this_machine(), memory, Exec(pool),
                          {.cast = {}, .keeps_rows = keeps_rows});
    };
    EXPECT_TRUE(bind(false)->is_packed());
    EXPECT_EQ(bind(true)->is_packed(), layout == Layout::kQ4_K);
  }
}

TEST(Linear, BindRefusesWhatDoesNotFit) {
  Random random(test_seed());
  const Problem problem(random, Kind{Layout::kQ8_0}, 4, 64, 1);
  WeightMemory memory;
  ThreadPool pool(1);
  const auto bind = [&](const TensorView& view, std::span<const float> bias) {
    return Linear::bind(view, bias, TargetSet::of_this_machine(), memory, Exec(pool));
  };
  EXPECT_TRUE(bind(problem.view(), {}).is_ok());
  TensorView shorter = problem.view();
  shorter.bytes = shorter.bytes.first(shorter.bytes.size() - 1);
  EXPECT_EQ(bind(shorter, {}).status().code(), StatusCode::kInvalidData);
  const std::span<const float> bias(problem.bias.data(), 3);
  EXPECT_EQ(bind(problem.view(), bias).status().code(), StatusCode::kInvalidData);
  const std::vector<std::byte> bytes(16);
  const TensorView integers{Layout::kI32, Shape{2, 2}, bytes};
  EXPECT_EQ(bind(integers, {}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace ingot
