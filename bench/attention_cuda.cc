// SPDX-License-Identifier: Apache-2.0
// How near attention on the device comes to its floors: decode steps as a share of the memory's
// bandwidth, prefill in TFLOP/s. Each layer of a chain has pages of its own, as in a model, so that
// nothing is found in the cache of the device; the chain is one CUDA graph.
// bench_attention_cuda [TB/s of the device, 4.27]
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

#include "cuda_chain.h"
#include "kernels/cuda/attention.h"
#include "kernels/paged_kv.h"

namespace ingot {
namespace {

constexpr int32_t kHeads = 32;
constexpr int32_t kKvHeads = 8;
constexpr int32_t kDim = 128;
constexpr int32_t kPageTokens = 16;

class DeviceMemory {
 public:
  explicit DeviceMemory(size_t bytes) { check(cudaMalloc(&data_, std::max<size_t>(bytes, 16))); }
  template <class T>
  explicit DeviceMemory(const std::vector<T>& from) : DeviceMemory(from.size() * sizeof(T)) {
    check(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

struct Work {
  KvCacheType type;
  int32_t sequences;
  int32_t length;
  int32_t tokens;
  bool is_batch_invariant = false;
};

// Seconds of one layer: the median of several runs of a chain.
double seconds(const Work& work) {
  const PagedKvShape shape{work.type, kKvHeads, kDim, kDim, kPageTokens};
  const int32_t pages_each = (work.length + kPageTokens - 1) / kPageTokens;
  const int64_t layer_bytes =
      static_cast<int64_t>(work.sequences) * pages_each * shape.page_bytes();
  const auto layers = static_cast<int32_t>(
      std::clamp<int64_t>((int64_t{512} << 20) / layer_bytes, work.tokens > 1 ? 2 : 4, 64));
  const int32_t rows = work.sequences * work.tokens;
  const DeviceMemory cache(static_cast<size_t>(layer_bytes * layers));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> floats(static_cast<size_t>(rows) * kHeads * kDim);
  for (float& value : floats)
    value = normal(random);
  const DeviceMemory q(floats);
  const DeviceMemory out(floats.size() * sizeof(float));
  std::vector<int32_t> table(static_cast<size_t>(work.sequences) * static_cast<size_t>(pages_each));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), random);
  const DeviceMemory pages(table);
  std::vector<int32_t> first_row;
  std::vector<int32_t> row_sequence;
  for (int32_t i = 0; i < work.sequences; ++i) {
    first_row.push_back(i * work.tokens);
    row_sequence.insert(row_sequence.end(), static_cast<size_t>(work.tokens), i);
  }
  const auto count = static_cast<size_t>(work.sequences);
  const DeviceMemory first_rows(first_row);
  const DeviceMemory row_sequences(row_sequence);
  const DeviceMemory tokens(std::vector<int32_t>(count, work.tokens));
  const DeviceMemory first_positions(std::vector<int32_t>(count, work.length - work.tokens));
  const DeviceMemory scratch(
      static_cast<size_t>(cuda::attention_scratch_bytes(rows, kHeads, kDim, work.length)));

  cuda::AttentionArgs args{};
  args.kv = {static_cast<cuda::KvType>(work.type),
             kKvHeads,
             kDim,
             kDim,
             kPageTokens,
             cache.as<std::byte>(),
             shape.page_bytes()};
  args.q = q.as<float>();
  args.q_stride = kHeads * kDim;
  args.out = out.as<float>();
  args.out_stride = kHeads * kDim;
  args.heads = kHeads;
  args.scale = 0.088F;
  args.scratch = scratch.as<std::byte>();
  args.is_batch_invariant = work.is_batch_invariant;
  args.sequences = {first_rows.as<int32_t>(),
                    tokens.as<int32_t>(),
                    first_positions.as<int32_t>(),
                    pages.as<int32_t>(),
                    pages_each,
                    row_sequences.as<int32_t>(),
                    work.sequences,
                    rows,
                    work.tokens,
                    work.length};

  cudaStream_t stream{};
  check(cudaStreamCreate(&stream));
  // All positions get numbers: the same floats stored position after position.
  {
    const int32_t wide = work.sequences * work.length;
    const int32_t step = std::min(wide, 4096);
    std::vector<float> kv(static_cast<size_t>(step) * kKvHeads * kDim);
    for (float& value : kv)
      value = normal(random);
    const DeviceMemory k(kv);
    const DeviceMemory zero(std::vector<int32_t>(static_cast<size_t>(step), 0));
    for (int32_t layer = 0; layer < layers; ++layer) {
      for (int32_t from = 0; from < pages_each * work.sequences * kPageTokens; from += step) {
        const int32_t here = std::min(step, pages_each * work.sequences * kPageTokens - from);
        const DeviceMemory row0(std::vector<int32_t>{0});
        const DeviceMemory all(std::vector<int32_t>{here});
        const DeviceMemory position(std::vector<int32_t>{from});
        cuda::StoreKvArgs store{};
        store.kv = args.kv;
        store.kv.data = cache.as<std::byte>() + layer * layer_bytes;
        store.fresh = {k.as<float>(), kKvHeads * kDim, k.as<float>(), kKvHeads * kDim};
        store.sequences = args.sequences;
        store.sequences.first_row = row0.as<int32_t>();
        store.sequences.tokens = all.as<int32_t>();
        store.sequences.first_position = position.as<int32_t>();
        store.sequences.row_sequence = zero.as<int32_t>();
        store.sequences.sequences = 1;
        store.sequences.rows = here;
        cuda::store_kv(store, stream);
        check(cudaStreamSynchronize(stream));
      }
    }
  }

  const double each = seconds_of_link(layers, stream, [&](int layer) {
    args.kv.data = cache.as<std::byte>() + layer * layer_bytes;
    cuda::attend(args, stream);
  });
  cudaStreamDestroy(stream);
  return each;
}

int run(double terabytes) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fmt::print(stderr, "no CUDA device on this machine\n");
    return 1;
  }
  struct Decode {
    int32_t sequences;
    int32_t length;
  };
  fmt::print("decode, heads {}/{}, dim {}: microseconds a layer, share of {} TB/s\n", kHeads,
             kKvHeads, kDim, terabytes);
  for (const auto [sequences, length] :
       {Decode{1, 1024}, Decode{1, 8192}, Decode{1, 65536}, Decode{64, 1024}, Decode{256, 1024}}) {
    for (const KvCacheType type :
         {KvCacheType::kF16, KvCacheType::kBF16, KvCacheType::kFp8E4M3, KvCacheType::kInt8}) {
      const double time = seconds({type, sequences, length, 1});
      const PagedKvShape shape{type, kKvHeads, kDim, kDim, kPageTokens};
      const double bytes = static_cast<double>(shape.token_bytes()) * sequences * length;
      fmt::print("  {:4} x {:6} {:9} {:9.2f} us {:6.1f} %\n", sequences, length, to_string(type),
                 time * 1e6, 100 * bytes / time / (terabytes * 1e12));
    }
  }
  fmt::print("prefill, causal: TFLOP/s\n");
  for (const KvCacheType type :
       {KvCacheType::kBF16, KvCacheType::kF16, KvCacheType::kFp8E4M3, KvCacheType::kInt8}) {
    for (const int32_t length : {1024, 4096, 8192}) {
      for (const bool is_invariant : {false, true}) {
        const double time = seconds({type, 1, length, length, is_invariant});
        const double flops = 4.0 * kHeads * kDim * length * static_cast<double>(length) / 2;
        fmt::print("  1 x {:6} {:9} {:10} {:9.1f} us {:7.1f}\n", length, to_string(type),
                   is_invariant ? "invariant" : "", time * 1e6, flops / time * 1e-12);
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int count, char** values) {
  return ingot::run(count > 1 ? std::atof(values[1]) : 4.27);
}
