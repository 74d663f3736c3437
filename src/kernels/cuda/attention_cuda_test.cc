// SPDX-License-Identifier: Apache-2.0
// Attention on the device against the scalar kernels of kernels/attention.h, over the same pages.
#include "kernels/cuda/test_attention.h"

namespace ingot {
namespace {

class CudaAttentionOf : public CudaAttention, public testing::WithParamInterface<KvCacheType> {
 protected:
  // As many queries to each of two heads, pages of any size.
  static Options grouped(Random& random, int64_t dim, int64_t group) {
    return {.type = GetParam(),
            .heads = 2 * group,
            .kv_heads = 2,
            .key_dim = dim,
            .value_dim = dim,
            .page_tokens = int64_t{8} << random.whole(0, 4)};
  }
};

TEST_P(CudaAttentionOf, StoresTheSameBytesAsTheScalarKernel) {
  Random random(test_seed());
  struct Dims {
    int64_t key;
    int64_t value;
  };
  const KvCacheType type = GetParam();
  for (const auto [key_dim, value_dim] : {Dims{20, 12}, Dims{64, 64}, Dims{128, 128}, Dims{21, 7},
                                          Dims{96, 130}, Dims{192, 256}, Dims{576, 512}}) {
    Options options{.type = type, .kv_heads = 3, .key_dim = key_dim, .value_dim = value_dim};
    options.heads = 3;
    Step step(random, options, {{37, 37}, {1, 0}, {90, 20}});
    SCOPED_TRACE(options.name());
    std::vector<float> k = random.normals(step.rows * 3 * key_dim);
    std::vector<float> v = random.normals(step.rows * 3 * value_dim);
    // All sizes of numbers, a row of zeros, and rows with what is no number.
    for (float& value : v)
      value *= std::ldexp(1.0F, static_cast<int>(random.whole(-24, 20)));
    std::fill_n(k.begin() + key_dim, key_dim, 0.0F);
    k[3] = std::numeric_limits<float>::quiet_NaN();
    k[4] = std::numeric_limits<float>::infinity();
    k[static_cast<size_t>(5 * key_dim)] = 1e-7F;
    k[static_cast<size_t>(6 * key_dim)] = 70000.0F;
    v[5] = -std::numeric_limits<float>::infinity();
    v[static_cast<size_t>(2 * value_dim)] = -std::numeric_limits<float>::quiet_NaN();
    v[static_cast<size_t>(3 * value_dim + 1)] = -3e38F;
    v[static_cast<size_t>(4 * value_dim + 1)] = 3e38F;

    std::ranges::fill(step.cache, std::byte{0x5A});
    const OnDevice device(step);
    const DeviceMemory device_k(k);
    const DeviceMemory device_v(v);
    cuda::StoreKvArgs args{};
    args.kv = device.device_kv(step);
    args.fresh = {device_k.as<float>(), 3 * key_dim, device_v.as<float>(), 3 * value_dim};
    args.sequences = device.sequences(step);
    cuda::store_kv(args, nullptr);
    INGOT_CUDA_OK(cudaDeviceSynchronize());
    const std::vector<std::byte> stored = device.cache.read<std::byte>();

    std::vector<SequenceRows> sequences{step.sequence(0), step.sequence(2)};
    ThreadPool pool(1);
    choose_attention(type, TargetSet::scalar_only())
        .store({step.kv, k.data(), 3 * key_dim, v.data(), 3 * value_dim, sequences}, Exec(pool));
    // The sign of a NaN that arithmetic made is the processor's own.
    const bool is_fp8 = type == KvCacheType::kFp8E4M3 || type == KvCacheType::kFp8E5M2;
    int64_t wrong = 0;
    for (size_t i = 0; i < stored.size(); ++i) {
      const auto a = static_cast<unsigned>(stored[i]);
      const auto b = static_cast<unsigned>(step.cache[i]);
      if (a == b || (is_fp8 && (a & 0x7Fu) == 0x7Fu && (b & 0x7Fu) == 0x7Fu)) continue;
      if (++wrong <= 3) ADD_FAILURE() << "byte " << i << ": " << a << ", not " << b;
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST_P(CudaAttentionOf, OneRowASequenceMatchesTheScalarKernel) {
  Random random(test_seed());
  for (const int64_t dim : {32, 64, 80, 96, 128, 192, 256}) {
    for (const int64_t group : {1, 4, 8}) {
      expect_scalar_result(random, grouped(random, dim, group),
                           {{1, 1},
                            {random.whole(2, 300), 1},
                            {5, 0},
                            {random.whole(500, 3000), 1},
                            {128, 1},
                            {257, 1}});
    }
  }
}

TEST_P(CudaAttentionOf, FewRowsASequenceMatchTheScalarKernel) {
  Random random(test_seed());
  for (const int64_t dim : {64, 128, 256}) {
    for (const int64_t group : {1, 4, 8}) {
      expect_scalar_result(random, grouped(random, dim, group),
                           {{8, 8},
                            {random.whole(8, 700), random.whole(1, 8)},
                            {9, 0},
                            {random.whole(900, 1500), 5},
                            {130, 3}});
    }
  }
}

TEST_P(CudaAttentionOf, ManyRowsASequenceMatchTheScalarKernel) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  for (const int64_t dim : {32, 64, 80, 96, 128, 192, 256}) {
    const Options options{.type = type,
                          .heads = 4,
                          .kv_heads = dim == 64 ? 4 : 2,
                          .key_dim = dim,
                          .value_dim = dim,
                          .page_tokens = int64_t{8} << random.whole(0, 4)};
    expect_scalar_result(random, options, {{random.whole(9, 40), 9}, {300, 300}, {700, 65}});
  }
}

TEST_P(CudaAttentionOf, MixedStepsMatchTheScalarKernel) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  for (int round = 0; round < 3; ++round) {
    Options options{.type = type, .page_tokens = int64_t{8} << random.whole(0, 4)};
    options.key_dim = options.value_dim = round == 0 ? 64 : 128;
    std::vector<Part> parts;
    for (int i = 0; i < 7; ++i) {
      const int64_t length = random.whole(1, round == 2 ? 1500 : 400);
      const int64_t tokens = i % 3 == 0 ? 1 : std::min(length, random.whole(0, 150));
      parts.push_back({length, tokens});
    }
    expect_scalar_result(random, options, parts);
  }
}

TEST_P(CudaAttentionOf, WindowsCapsSlopesAndSinksMatchTheScalarKernel) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  for (int kind = 0; kind < 6; ++kind) {
    Options options{.type = type, .page_tokens = int64_t{8} << random.whole(0, 4)};
    options.key_dim = options.value_dim = kind % 2 == 0 ? 64 : 128;
    if (kind == 0 || kind == 5) options.window = random.whole(1, 100);
    if (kind == 1) options.window = 300;
    if (kind == 2 || kind == 5) options.softcap = 5;
    if (kind == 3 || kind == 5) options.has_alibi = true;
    if (kind == 4 || kind == 5) options.has_sinks = true;
    expect_scalar_result(random, options, {{700, 1}, {900, 6}, {40, 1}, {3, 0}});
    expect_scalar_result(random, options, {{400, 330}, {600, 1}, {500, 20}, {3, 0}});
  }
}

TEST_P(CudaAttentionOf, OddHeadSizesMatchTheScalarKernel) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  for (const auto& options :
       {Options{.type = type, .heads = 1, .kv_heads = 1, .key_dim = 20, .value_dim = 12},
        Options{.type = type, .heads = 7, .kv_heads = 1, .key_dim = 72, .value_dim = 64},
        Options{.type = type, .heads = 9, .kv_heads = 3, .key_dim = 192, .value_dim = 128},
        Options{.type = type, .heads = 6, .kv_heads = 3, .key_dim = 96, .value_dim = 130},
        Options{.type = type, .heads = 2, .kv_heads = 1, .key_dim = 576, .value_dim = 512}}) {
    expect_scalar_result(random, options, {{200, 1}, {60, 40}, {300, 3}});
  }
}

// The rows of one sequence computed in one step, in chunks, one by one, and beside others.
TEST_P(CudaAttentionOf, InvariantRowsDependOnNothingButTheirOwnSequence) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  for (const int64_t dim : {64, 128, 256}) {
    Options options{.type = type, .heads = 8, .kv_heads = 2, .key_dim = dim, .value_dim = dim};
    options.is_batch_invariant = true;
    SCOPED_TRACE(options.name());
    constexpr int64_t kLength = 700;
    Step step(random, options, {{kLength, kLength}});
    const std::vector<float> whole = OnDevice(step).run(step);
    expect_close(step, whole, step.run_scalar());
    const int64_t width = options.heads * dim;
    for (int64_t first = 0; first < kLength;) {
      const int64_t tokens =
          std::min(kLength - first, first % 3 == 0 ? random.whole(1, 3) : random.whole(60, 200));
      Step chunk = step;
      chunk.kv.data = chunk.cache.data();
      chunk.parts = {{first + tokens, tokens}};
      chunk.rows = chunk.most_tokens = tokens;
      chunk.longest = first + tokens;
      chunk.q.assign(step.q.begin() + first * options.heads * dim,
                     step.q.begin() + (first + tokens) * options.heads * dim);
      const std::vector<float> out = OnDevice(chunk).run(chunk);
      ASSERT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + first * width))
          << "rows from " << first << ", " << tokens;
      first += tokens;
    }
  }
}

TEST_P(CudaAttentionOf, OneRowOfASequenceIsTheSameInCompany) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  Options options{.type = type, .key_dim = 128, .value_dim = 128};
  SCOPED_TRACE(options.name());
  std::vector<Part> parts{{1000, 1}};
  for (int i = 0; i < 800; ++i)
    parts.push_back({random.whole(1, 40), 1});
  Step together(random, options, parts);
  const std::vector<float> out = OnDevice(together).run(together);
  Step alone = together;
  alone.kv.data = alone.cache.data();
  alone.parts = {{1000, 1}};
  alone.rows = 1;
  alone.q.resize(static_cast<size_t>(options.heads * options.key_dim));
  const std::vector<float> expected = OnDevice(alone).run(alone);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out.begin()));
}

// [rows, heads, dim], as RopeRows says.
void rotate_rows(std::vector<float>& x, int64_t rows, int64_t dim, int64_t pairs, bool in_halves,
                 const std::vector<float>& cos, const std::vector<float>& sin) {
  const int64_t heads = std::ssize(x) / rows / dim;
  for (int64_t i = 0; i < rows * heads; ++i) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      float* head = x.data() + i * dim;
      float& first = head[in_halves ? pair : 2 * pair];
      float& second = head[in_halves ? pair + pairs : 2 * pair + 1];
      const auto at = static_cast<size_t>(i / heads * pairs + pair);
      const float a = first;
      const float b = second;
      first = a * cos[at] - b * sin[at];
      second = b * cos[at] + a * sin[at];
    }
  }
}

TEST_P(CudaAttentionOf, StoringRotatingAndJoiningOnTheWayChangesNoBit) {
  Random random(test_seed());
  const KvCacheType type = GetParam();
  for (int kind = 0; kind < 7; ++kind) {
    const std::array<int64_t, 7> dims{128, 64, 128, 64, 256, 64, 256};
    const std::array<int64_t, 7> page_tokens{16, 8, 64, 16, 128, 32, 8};
    const int64_t dim = dims[static_cast<size_t>(kind)];
    const bool turns_all = kind > 4;
    const bool in_halves = kind < 2 || turns_all;
    const Options options{.type = type,
                          .heads = kind == 6 ? 32 : 8,  // as many queries as one block takes
                          .key_dim = dim,
                          .value_dim = dim,
                          .page_tokens = page_tokens[static_cast<size_t>(kind)],
                          .window = kind == 5 ? 100 : 0};
    SCOPED_TRACE(options.name());
    // Lengths around the ends of pages and splits too: the newest position may be alone in both.
    std::vector<Part> parts{{1, 1},   {300, 1}, {5, 0},   {2500, 1}, {127, 1},
                            {128, 1}, {129, 1}, {256, 1}, {257, 1}};
    if (kind == 3) parts.push_back({700, 40});
    Step step(random, options, parts);
    const int64_t pairs = dim / 2 - (turns_all ? 0 : 4 * kind);
    const std::vector<float> cos = random.normals(step.rows * pairs);
    const std::vector<float> sin = random.normals(step.rows * pairs);
    std::vector<float> k = random.normals(step.rows * options.kv_heads * dim);
    const std::vector<float> v = random.normals(step.rows * options.kv_heads * dim);
    const auto fresh = [&](const DeviceMemory& device_k, const DeviceMemory& device_v) {
      const int64_t stride = options.kv_heads * dim;
      return cuda::NewKv{device_k.as<float>(), stride, device_v.as<float>(), stride};
    };

    const OnDevice together(step);
    const DeviceMemory together_k(k);
    const DeviceMemory device_v(v);
    const DeviceMemory device_cos(cos);
    const DeviceMemory device_sin(sin);
    cuda::AttentionArgs args = together.args(step);
    args.fresh = fresh(together_k, device_v);
    args.rope = {device_cos.as<float>(), device_sin.as<float>(), static_cast<int32_t>(pairs),
                 in_halves};
    cuda::AttentionStep left{};
    cuda::attend(args, nullptr, &left);
    if (left.splits.values != nullptr) cuda::join_and_pack(left, {}, nullptr);
    INGOT_CUDA_OK(cudaDeviceSynchronize());

    rotate_rows(step.q, step.rows, dim, pairs, in_halves, cos, sin);
    rotate_rows(k, step.rows, dim, pairs, in_halves, cos, sin);
    const OnDevice apart(step);
    const DeviceMemory apart_k(k);
    cuda::StoreKvArgs store{};
    store.kv = apart.device_kv(step);
    store.fresh = fresh(apart_k, device_v);
    store.sequences = apart.sequences(step);
    cuda::store_kv(store, nullptr);
    cuda::attend(apart.args(step), nullptr);
    INGOT_CUDA_OK(cudaDeviceSynchronize());

    EXPECT_EQ(together.cache.read<std::byte>(), apart.cache.read<std::byte>());
    const std::vector<float> out = together.out.read<float>();
    const std::vector<float> expected = apart.out.read<float>();
    int64_t wrong = 0;
    for (size_t part = 0; part < parts.size(); ++part) {
      const int64_t width = options.heads * dim;
      const int64_t first = step.first_row(part) * width;
      for (int64_t i = first; i < first + parts[part].tokens * width; ++i)
        wrong += out[static_cast<size_t>(i)] == expected[static_cast<size_t>(i)] ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0);
  }
}

// Splits that are joined by who packs the result: what packing the joined rows gives.
TEST_F(CudaAttention, WhatIsLeftToJoinIsPackedOnTheWay) {
  using Kind = cuda::PackedRows::Kind;
  Random random(test_seed());
  for (const auto& [heads, dim] : {std::pair{8, 128}, std::pair{12, 64}, std::pair{5, 80}}) {
    const Options options{
        .type = KvCacheType::kF16, .heads = heads, .kv_heads = 1, .key_dim = dim, .value_dim = dim};
    Step step(random, options, {{1, 1}, {300, 2}, {5, 0}, {2500, 1}, {129, 8}});
    const OnDevice device(step);
    cuda::AttentionStep left{};
    cuda::attend(device.args(step), nullptr, &left);
    ASSERT_NE(left.splits.values, nullptr);
    const int64_t cols = heads * dim;
    const int64_t stride = (cols + 127) / 128 * 128;
    const auto count = static_cast<size_t>(step.rows);
    for (const auto& [kind, quant] :
         {std::pair{Kind::kF16, InputQuant{}}, std::pair{Kind::kE4m3, InputQuant{InputKind::kE4m3}},
          std::pair{Kind::kInt8, InputQuant{InputKind::kInt8}}}) {
      ASSERT_TRUE(cuda::can_fuse_join(left, quant));
      const auto pack = [&](const auto& function) {
        const DeviceMemory codes(count * static_cast<size_t>(stride) * 2);
        const DeviceMemory scales(count * sizeof(float));
        codes.fill(0xFF);
        function(cuda::PackedRows{
            .kind = kind,
            .values = codes.as<void>(),
            .stride = stride,
            .scales = {
                quant, scales.as<float>(), 0, {}, static_cast<int32_t>(step.rows), nullptr}});
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        std::vector<uint8_t> bytes = codes.read<uint8_t>();
        const std::vector<uint8_t> more = scales.read<uint8_t>();
        bytes.insert(bytes.end(), more.begin(), more.end());
        return bytes;
      };
      device.out.fill(0);  // rows of no sequence are zeros to both
      const std::vector<uint8_t> on_the_way =
          pack([&](const cuda::PackedRows& out) { cuda::join_and_pack(left, out, nullptr); });
      const std::vector<float> joined = device.out.read<float>();
      const std::vector<uint8_t> apart = pack([&](const cuda::PackedRows& out) {
        cuda::launch_join(left, nullptr);
        cuda::pack_rows(device.out.as<float>(), step.rows, cols, out, nullptr);
      });
      EXPECT_EQ(joined, device.out.read<float>()) << heads << " heads of " << dim;
      EXPECT_EQ(on_the_way, apart) << heads << " heads of " << dim;
    }
  }
}

// A layer that uses another's keys rotates its queries alone.
TEST_F(CudaAttention, QueriesOfAPromptAreRotatedOnTheWay) {
  Random random(test_seed());
  for (const KvCacheType type : {KvCacheType::kF16, KvCacheType::kBF16, KvCacheType::kFp8E4M3}) {
    for (const bool in_halves : {false, true}) {
      const Options options{.type = type, .key_dim = 128, .value_dim = 128};
      SCOPED_TRACE(options.name());
      Step step(random, options, {{300, 300}, {450, 77}});
      constexpr int64_t kPairs = 48;
      const std::vector<float> cos = random.normals(step.rows * kPairs);
      const std::vector<float> sin = random.normals(step.rows * kPairs);
      const OnDevice device(step);
      const DeviceMemory device_cos(cos);
      const DeviceMemory device_sin(sin);
      cuda::AttentionArgs args = device.args(step);
      args.rope = {device_cos.as<float>(), device_sin.as<float>(), kPairs, in_halves};
      cuda::attend(args, nullptr);
      INGOT_CUDA_OK(cudaDeviceSynchronize());
      rotate_rows(step.q, step.rows, options.key_dim, kPairs, in_halves, cos, sin);
      expect_close(step, device.out.read<float>(), step.run_scalar());
    }
  }
}

// A captured step serves all others of its size: lengths and pages are read on the device.
TEST_F(CudaAttention, ACapturedStepServesOtherLengths) {
  Random random(test_seed());
  for (const KvCacheType type : {KvCacheType::kBF16, KvCacheType::kFp8E4M3, KvCacheType::kInt8}) {
    const Options options{.type = type, .key_dim = 128, .value_dim = 128};
    SCOPED_TRACE(options.name());
    Step step(random, options, {{900, 1}, {60, 1}, {7, 0}});
    const OnDevice device(step);
    cudaStream_t stream{};
    cudaGraph_t graph{};
    cudaGraphExec_t ready{};
    INGOT_CUDA_OK(cudaStreamCreate(&stream));
    INGOT_CUDA_OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    cuda::attend(device.args(step), stream);
    INGOT_CUDA_OK(cudaStreamEndCapture(stream, &graph));
    INGOT_CUDA_OK(cudaGraphInstantiate(&ready, graph, 0));
    for (const int64_t length : {900, 333, 1}) {
      step.parts[0].length = length;
      device.first_position.write(std::vector<int32_t>{static_cast<int32_t>(length - 1), 59, 6});
      device.out.fill(0xFF);
      INGOT_CUDA_OK(cudaGraphLaunch(ready, stream));
      INGOT_CUDA_OK(cudaStreamSynchronize(stream));
      expect_close(step, device.out.read<float>(), step.run_scalar());
    }
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
}

INSTANTIATE_TEST_SUITE_P(Caches, CudaAttentionOf, testing::ValuesIn(kv_cache_types()),
                         [](const auto& cache) { return std::string(to_string(cache.param)); });

}  // namespace
}  // namespace ingot
