// SPDX-License-Identifier: Apache-2.0
// Linear layers as the decoder has them, bound to their weights: threads, company, the order of
// columns, rounded inputs, casts, and what is refused.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "blocks/elements.h"
#include "kernels/input_rounding.h"
#include "kernels/linear.h"
#include "kernels/test_linear.h"

namespace ingot {
namespace {

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
