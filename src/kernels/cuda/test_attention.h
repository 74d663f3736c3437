// SPDX-License-Identifier: Apache-2.0
// Steps of attention on the device and by the scalar kernels, over the same pages, for tests of the
// GPU. Without a device they are skipped.
#pragma once

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
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/tensor_map.h"
#include "kernels/test_random.h"

namespace ingot {

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
inline double tolerance(const Options& options) {
  const bool is_f32 = options.type == KvCacheType::kF32 || options.type == KvCacheType::kInt4;
  // A bf16 keeps eight bits of queries and of weights, the others eleven or are read exactly.
  const bool is_bf16 = options.type == KvCacheType::kBF16;
  return is_f32 ? 1e-5 : (is_bf16 ? 8e-3 : 3e-3);
}

// Padding rows stay as they were: NaN.
inline void expect_close(const Step& step, const std::vector<float>& out,
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

inline void expect_scalar_result(Random& random, const Options& options, std::vector<Part> parts) {
  std::string shape;
  for (const Part& part : parts)
    shape += fmt::format(" {}:{}", part.length, part.tokens);
  SCOPED_TRACE(options.name() + " parts" + shape);
  Step step(random, options, std::move(parts));
  if (options.window > 0) step.give_back_pages();
  const OnDevice device(step);
  expect_close(step, device.run(step), step.run_scalar());
}

}  // namespace ingot
