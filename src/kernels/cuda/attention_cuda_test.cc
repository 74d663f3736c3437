// SPDX-License-Identifier: Apache-2.0
// Attention on the device against the scalar kernels of kernels/attention.h, over the same pages.
// Without a device the tests are skipped.
#include <cuda_runtime_api.h>
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/attention.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/tensor_map.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

#define INGOT_CUDA_OK(call) ASSERT_EQ(call, cudaSuccess) << cudaGetErrorString(cudaGetLastError())

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) : bytes_(bytes) {
    if (cudaMalloc(&data_, std::max<size_t>(bytes, 16)) != cudaSuccess) data_ = nullptr;
  }
  template <class T>
  explicit DeviceMemory(const std::vector<T>& from) : DeviceMemory(from.size() * sizeof(T)) {
    cudaMemcpy(data_, from.data(), bytes_, cudaMemcpyHostToDevice);
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> to(bytes_ / sizeof(T));
    cudaMemcpy(to.data(), data_, bytes_, cudaMemcpyDeviceToHost);
    return to;
  }
  void fill(int byte) const { cudaMemset(data_, byte, bytes_); }
  template <class T>
  void write(const std::vector<T>& from) const {
    cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice);
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

class CudaAttention : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
      GTEST_SKIP() << "no CUDA device on this machine";
  }
};

struct Options {
  KvCacheType type = KvCacheType::kF16;
  int64_t heads = 8;
  int64_t kv_heads = 2;
  int64_t key_dim = 64;
  int64_t value_dim = 64;
  int64_t page_tokens = 16;
  int64_t page_gap = 64;  // bytes from a page's end to the next
  float softcap = 0;
  int64_t window = 0;
  bool has_alibi = false;
  bool has_sinks = false;
  bool is_batch_invariant = false;

  std::string name() const {
    return fmt::format("{} heads {}/{} dim {}/{} page {}+{} window {} softcap {} alibi {} sinks {}",
                       to_string(type), heads, kv_heads, key_dim, value_dim, page_tokens, page_gap,
                       window, softcap, has_alibi, has_sinks);
  }
};
struct Part {      // a sequence's share of a step
  int64_t length;  // with this step's tokens
  int64_t tokens;  // 0: padding
};

// Sequences whose keys and values of all positions are in the cache, by the scalar kernel; and a
// step of the last rows of each.
class Step {
 public:
  Step(Random& random, const Options& given, std::vector<Part> given_parts)
      : options(given), parts(std::move(given_parts)) {
    const Options& o = options;
    kv.shape = {o.type, o.kv_heads, o.key_dim, o.value_dim, o.page_tokens};
    kv.page_stride = (kv.shape.page_bytes() + 15) / 16 * 16 + o.page_gap;
    int64_t page_count = 1;
    for (const Part& part : parts) {
      longest = std::max(longest, part.length);
      most_tokens = std::max(most_tokens, part.tokens);
      page_count += pages_of(part.length);
      rows += std::max<int64_t>(part.tokens, 1);  // padding has a row too
    }
    longest += random.whole(0, 700);  // an upper bound is enough
    table_stride = pages_of(longest) + 3;
    cache.assign(static_cast<size_t>(page_count * kv.page_stride), std::byte{0xFF});
    kv.data = cache.data();
    PageTable order(static_cast<size_t>(page_count));
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1],
                order[static_cast<size_t>(random.whole(0, static_cast<int64_t>(i) - 1))]);
    table.assign(parts.size() * static_cast<size_t>(table_stride), kNoPage);
    size_t next = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      for (int64_t page = 0; page < pages_of(parts[i].length); ++page)
        table[i * static_cast<size_t>(table_stride) + static_cast<size_t>(page)] = order[next++];
    }
    q = random.normals(rows * o.heads * o.key_dim);
    slopes = random.normals(o.heads);
    for (float& slope : slopes)
      slope = std::fabs(slope) * 0.1F;
    sinks = random.normals(o.heads);
    fill_cache(random);
  }

  int64_t pages_of(int64_t positions) const {
    return (positions + options.page_tokens - 1) / options.page_tokens;
  }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(options.key_dim)); }
  int64_t out_size() const { return rows * options.heads * options.value_dim; }
  int64_t first_row(size_t part) const {
    int64_t row = 0;
    for (size_t i = 0; i < part; ++i)
      row += std::max<int64_t>(parts[i].tokens, 1);
    return row;
  }
  SequenceRows sequence(size_t part) const {
    return {first_row(part), parts[part].tokens, parts[part].length - parts[part].tokens,
            table.data() + part * static_cast<size_t>(table_stride)};
  }
  // Pages wholly before every window are given back.
  void give_back_pages() {
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t first = parts[i].length - parts[i].tokens + 1 - options.window;
      for (int64_t page = 0; (page + 1) * options.page_tokens <= first; ++page)
        table[i * static_cast<size_t>(table_stride) + static_cast<size_t>(page)] = kNoPage;
    }
  }

  std::vector<float> run_scalar() const {
    std::vector<float> out = poisoned(out_size());
    std::vector<SequenceRows> sequences;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].tokens > 0) sequences.push_back(sequence(i));
    }
    const Options& o = options;
    ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
    choose_attention(o.type, TargetSet::scalar_only())
        .run({kv, q.data(), o.heads * o.key_dim, out.data(), o.heads * o.value_dim, o.heads,
              scale(), o.softcap, o.window, o.has_alibi ? slopes.data() : nullptr,
              o.has_sinks ? sinks.data() : nullptr, sequences},
             Exec(pool));
    return out;
  }

  Options options;
  std::vector<Part> parts;
  PagedKv kv;
  int64_t longest = 1;
  int64_t most_tokens = 0;
  int64_t rows = 0;
  int64_t table_stride = 0;
  std::vector<std::byte> cache;
  PageTable table;
  std::vector<float> q;
  std::vector<float> slopes;
  std::vector<float> sinks;

 private:
  void fill_cache(Random& random) {
    const Options& o = options;
    const AttentionKernel& kernel = choose_attention(o.type, TargetSet::scalar_only());
    ThreadPool pool(1);
    for (size_t i = 0; i < parts.size(); ++i) {
      const int64_t length = parts[i].tokens == 0 ? 0 : parts[i].length;
      const std::vector<float> k = random.normals(length * o.kv_heads * o.key_dim);
      const std::vector<float> v = random.normals(length * o.kv_heads * o.value_dim);
      const SequenceRows all{0, length, 0, table.data() + i * static_cast<size_t>(table_stride)};
      kernel.store(
          {kv, k.data(), o.kv_heads * o.key_dim, v.data(), o.kv_heads * o.value_dim, {&all, 1}},
          Exec(pool));
    }
  }
};

// A step's copy in device memory.
class OnDevice {
 public:
  explicit OnDevice(const Step& step)
      : cache(step.cache),
        table(step.table),
        q(step.q),
        slopes(step.slopes),
        sinks(step.sinks),
        out(static_cast<size_t>(step.out_size()) * sizeof(float)),
        scratch_bytes(cuda::attention_scratch_bytes(
            static_cast<int32_t>(step.rows), static_cast<int32_t>(step.options.heads),
            static_cast<int32_t>(step.options.value_dim), static_cast<int32_t>(step.longest))),
        scratch(static_cast<size_t>(scratch_bytes) + kGuard),
        first_row(ints(step, [](const SequenceRows& rows) { return rows.first_row; })),
        tokens(ints(step, [](const SequenceRows& rows) { return rows.tokens; })),
        first_position(ints(step, [](const SequenceRows& rows) { return rows.first_position; })),
        row_sequence(row_sequences(step)) {}

  cuda::AttentionArgs args(const Step& step) const {
    const Options& o = step.options;
    cuda::AttentionArgs args{};
    args.kv = device_kv(step);
    args.q = q.as<float>();
    args.q_stride = o.heads * o.key_dim;
    args.out = out.as<float>();
    args.out_stride = o.heads * o.value_dim;
    args.heads = static_cast<int32_t>(o.heads);
    args.scale = step.scale();
    args.softcap = o.softcap;
    args.window = static_cast<int32_t>(o.window);
    args.alibi_slopes = o.has_alibi ? slopes.as<float>() : nullptr;
    args.sinks = o.has_sinks ? sinks.as<float>() : nullptr;
    args.sequences = sequences(step);
    args.scratch = scratch.as<std::byte>();
    args.is_batch_invariant = o.is_batch_invariant;
    return args;
  }
  cuda::DeviceKv device_kv(const Step& step) const {
    const Options& o = step.options;
    return {static_cast<cuda::KvType>(o.type),
            static_cast<int32_t>(o.kv_heads),
            static_cast<int32_t>(o.key_dim),
            static_cast<int32_t>(o.value_dim),
            static_cast<int32_t>(o.page_tokens),
            cache.as<std::byte>(),
            step.kv.page_stride};
  }
  cuda::DeviceSequences sequences(const Step& step) const {
    return {first_row.as<int32_t>(),
            tokens.as<int32_t>(),
            first_position.as<int32_t>(),
            table.as<int32_t>(),
            step.table_stride,
            row_sequence.as<int32_t>(),
            static_cast<int32_t>(step.parts.size()),
            static_cast<int32_t>(step.rows),
            static_cast<int32_t>(step.most_tokens),
            static_cast<int32_t>(step.longest)};
  }
  // Results, from poisoned memory.
  std::vector<float> run(const Step& step) const {
    out.fill(0xFF);
    scratch.fill(0xFF);
    cuda::attend(args(step), nullptr);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    const std::vector<uint8_t> bytes = scratch.read<uint8_t>();
    EXPECT_TRUE(std::all_of(bytes.end() - kGuard, bytes.end(), [](uint8_t b) { return b == 0xFF; }))
        << "scratch overrun";
    return out.read<float>();
  }

  static constexpr int64_t kGuard = 4096;
  DeviceMemory cache;
  DeviceMemory table;
  DeviceMemory q;
  DeviceMemory slopes;
  DeviceMemory sinks;
  DeviceMemory out;
  int64_t scratch_bytes;
  DeviceMemory scratch;
  DeviceMemory first_row;
  DeviceMemory tokens;
  DeviceMemory first_position;
  DeviceMemory row_sequence;

 private:
  template <class Pick>
  static std::vector<int32_t> ints(const Step& step, Pick&& pick) {
    std::vector<int32_t> values;
    for (size_t i = 0; i < step.parts.size(); ++i)
      values.push_back(static_cast<int32_t>(pick(step.sequence(i))));
    return values;
  }
  static std::vector<int32_t> row_sequences(const Step& step) {
    std::vector<int32_t> values;
    for (size_t i = 0; i < step.parts.size(); ++i)
      values.insert(values.end(), static_cast<size_t>(std::max<int64_t>(step.parts[i].tokens, 1)),
                    static_cast<int32_t>(i));
    return values;
  }
};

// f32 and what is computed like it to f32's accuracy; others round queries and weights to 11 bits
// or, bf16, to 8.
double tolerance(const Options& options) {
  const bool is_f32 = options.type == KvCacheType::kF32 || options.type == KvCacheType::kInt4;
  // A bf16 keeps eight bits of queries and of weights, the others eleven or are read exactly.
  const bool is_bf16 = options.type == KvCacheType::kBF16;
  return is_f32 ? 1e-5 : (is_bf16 ? 8e-3 : 3e-3);
}

// Padding rows stay as they were: NaN.
void expect_close(const Step& step, const std::vector<float>& out,
                  const std::vector<float>& expected) {
  ASSERT_EQ(out.size(), expected.size());
  float largest = 0;
  for (const float value : expected)
    largest = std::isnan(value) ? largest : std::max(largest, std::fabs(value));
  const double bound = tolerance(step.options) * static_cast<double>(largest);
  const int64_t width = step.options.heads * step.options.value_dim;
  int wrong = 0;
  double worst = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const double error = std::fabs(static_cast<double>(out[i]) - static_cast<double>(expected[i]));
    const bool is_good = std::isnan(expected[i]) ? std::isnan(out[i]) : error <= bound;
    if (!std::isnan(error)) worst = std::max(worst, error / static_cast<double>(largest));
    if (is_good) continue;
    if (++wrong <= 5) {
      const auto at = static_cast<int64_t>(i);
      ADD_FAILURE() << "row " << at / width << " head " << at % width / step.options.value_dim
                    << " element " << at % step.options.value_dim << ": " << out[i] << ", not "
                    << expected[i];
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << out.size() << ", worst error " << worst;
  testing::Test::RecordProperty("worst", fmt::format("{:.2e}", worst));
}

void expect_scalar_result(Random& random, const Options& options, std::vector<Part> parts) {
  std::string shape;
  for (const Part& part : parts)
    shape += fmt::format(" {}:{}", part.length, part.tokens);
  SCOPED_TRACE(options.name() + " parts" + shape);
  Step step(random, options, std::move(parts));
  if (options.window > 0) step.give_back_pages();
  const OnDevice device(step);
  expect_close(step, device.run(step), step.run_scalar());
}

TEST_F(CudaAttention, StoresTheSameBytesAsTheScalarKernel) {
  Random random(test_seed());
  struct Dims {
    int64_t key;
    int64_t value;
  };
  for (const KvCacheType type : kv_cache_types()) {
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
}

TEST_F(CudaAttention, OneRowASequenceMatchesTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
    for (const int64_t dim : {32, 64, 80, 96, 128, 192, 256}) {
      for (const int64_t group : {1, 4, 8}) {
        const Options options{.type = type,
                              .heads = 2 * group,
                              .kv_heads = 2,
                              .key_dim = dim,
                              .value_dim = dim,
                              .page_tokens = int64_t{8} << random.whole(0, 4)};
        expect_scalar_result(random, options,
                             {{1, 1},
                              {random.whole(2, 300), 1},
                              {5, 0},
                              {random.whole(500, 3000), 1},
                              {128, 1},
                              {257, 1}});
      }
    }
  }
}

TEST_F(CudaAttention, FewRowsASequenceMatchTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
    for (const int64_t dim : {64, 128, 256}) {
      for (const int64_t group : {1, 4, 8}) {
        const Options options{.type = type,
                              .heads = 2 * group,
                              .kv_heads = 2,
                              .key_dim = dim,
                              .value_dim = dim,
                              .page_tokens = int64_t{8} << random.whole(0, 4)};
        expect_scalar_result(random, options,
                             {{8, 8},
                              {random.whole(8, 700), random.whole(1, 8)},
                              {9, 0},
                              {random.whole(900, 1500), 5},
                              {130, 3}});
      }
    }
  }
}

TEST_F(CudaAttention, ManyRowsASequenceMatchTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
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
}

TEST_F(CudaAttention, MixedStepsMatchTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
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
}

TEST_F(CudaAttention, WindowsCapsSlopesAndSinksMatchTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
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
}

// Tiles of 128 positions that rows see all of, in part at either end, and not at all, wherever
// pages and windows begin. What was never written is NaN, and so is all of a page that is nobody's.
TEST_F(CudaAttention, TilesOfAPromptMatchTheScalarKernelWhereverTheyBeginAndEnd) {
  Random random(test_seed());
  struct Dims {
    int64_t key;
    int64_t value;
  };
  for (const KvCacheType type : {KvCacheType::kF16, KvCacheType::kBF16}) {
    for (const auto [key_dim, value_dim] :
         {Dims{64, 64}, Dims{80, 80}, Dims{96, 96}, Dims{128, 128}, Dims{32, 32}, Dims{40, 64},
          Dims{128, 40}, Dims{72, 128}}) {
      for (const int64_t page_tokens : {8, 16, 32, 64, 128}) {
        for (const int64_t window : {int64_t{0}, random.whole(100, 400)}) {
          const Options options{.type = type,
                                .heads = 4,
                                .kv_heads = 2,
                                .key_dim = key_dim,
                                .value_dim = value_dim,
                                .page_tokens = page_tokens,
                                .page_gap = random.whole(0, 1) * 64,
                                .window = window};
          expect_scalar_result(random, options,
                               {{384, 384},
                                {random.whole(400, 700), random.whole(9, 300)},
                                {517, 130},
                                {3, 0},
                                {640, 128}});
        }
      }
    }
  }
}

// Else prompts would still be right, but slow.
TEST_F(CudaAttention, HoppersCopiesTakePagesOfAllSizes) {
  int major = 0;
  INGOT_CUDA_OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) GTEST_SKIP() << "a GPU without such copies";
  const DeviceMemory memory(4096);
  for (const int32_t page_tokens : {8, 16, 32, 64, 128}) {
    for (const int32_t dim : {32, 64, 80, 96, 128}) {
      const int32_t rows = 2 * page_tokens;
      CUtensorMap map{};
      EXPECT_TRUE(cuda::map_pages({memory.as<std::byte>(), dim, rows, int64_t{2} * rows * dim * 2},
                                  page_tokens, map))
          << page_tokens << " rows of " << dim;
    }
  }
}

// So many positions that most tiles have no row's largest logit any more.
TEST_F(CudaAttention, ALongPromptMatchesTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : {KvCacheType::kF16, KvCacheType::kBF16}) {
    for (const int64_t dim : {64, 128}) {
      const Options options{
          .type = type, .heads = 2, .kv_heads = 1, .key_dim = dim, .value_dim = dim, .page_gap = 0};
      expect_scalar_result(random, options, {{6000, 200}});
    }
  }
}

TEST_F(CudaAttention, OddHeadSizesMatchTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
    for (const auto& options :
         {Options{.type = type, .heads = 1, .kv_heads = 1, .key_dim = 20, .value_dim = 12},
          Options{.type = type, .heads = 7, .kv_heads = 1, .key_dim = 72, .value_dim = 64},
          Options{.type = type, .heads = 9, .kv_heads = 3, .key_dim = 192, .value_dim = 128},
          Options{.type = type, .heads = 6, .kv_heads = 3, .key_dim = 96, .value_dim = 130},
          Options{.type = type, .heads = 2, .kv_heads = 1, .key_dim = 576, .value_dim = 512}}) {
      expect_scalar_result(random, options, {{200, 1}, {60, 40}, {300, 3}});
    }
  }
}

// The rows of one sequence computed in one step, in chunks, one by one, and beside others.
TEST_F(CudaAttention, InvariantRowsDependOnNothingButTheirOwnSequence) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
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
}

TEST_F(CudaAttention, OneRowOfASequenceIsTheSameInCompany) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
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

TEST_F(CudaAttention, StoringRotatingAndJoiningOnTheWayChangesNoBit) {
  Random random(test_seed());
  for (const KvCacheType type : kv_cache_types()) {
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
      const DeviceMemory counters(
          std::vector<uint32_t>(parts.size() * static_cast<size_t>(options.kv_heads)));
      cuda::AttentionArgs args = together.args(step);
      args.fresh = fresh(together_k, device_v);
      args.rope = {device_cos.as<float>(), device_sin.as<float>(), static_cast<int32_t>(pairs),
                   in_halves};
      args.counters = counters.as<uint32_t>();
      cuda::attend(args, nullptr);
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
      for (const uint32_t counter : counters.read<uint32_t>())
        EXPECT_EQ(counter, 0u);
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

}  // namespace
}  // namespace ingot
