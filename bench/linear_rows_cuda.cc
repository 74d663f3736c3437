// SPDX-License-Identifier: Apache-2.0
// How near weights in rows by 16 to 256 tokens come to the memory's bandwidth on Hopper: our kernel
// beside the vendor's library, for the linear layers of an 8B model. Each layer of a chain has a
// weight of its own, so that nothing is found in the cache of the device; the chain is one CUDA
// graph. The library's time is without the scales, shifts and bias that follow it for INT8.
// bench_linear_rows_cuda [TB/s of the device, 4.27]
#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "cuda_chain.h"
#include "kernels/cuda/hopper.h"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/matmul_library.h"

namespace ingot {
namespace {

using cuda::ElementType;
using cuda::ProductScales;

constexpr int64_t kMostTokens = 256;

// Of random bytes: a device that multiplies zeros runs faster than it does otherwise.
class RandomMemory {
 public:
  explicit RandomMemory(size_t bytes) {
    constexpr size_t kPiece = size_t{8} << 20;
    static const std::vector<uint32_t> kPattern = [] {
      std::mt19937 random(1);
      std::vector<uint32_t> words(kPiece / 4);
      std::ranges::generate(words, random);
      return words;
    }();
    check(cudaMalloc(&data_, bytes));
    for (size_t at = 0; at < bytes; at += kPiece)
      check(cudaMemcpy(as<char>() + at, kPattern.data(), std::min(kPiece, bytes - at),
                       cudaMemcpyHostToDevice));
  }
  ~RandomMemory() { cudaFree(data_); }
  RandomMemory(const RandomMemory&) = delete;
  RandomMemory& operator=(const RandomMemory&) = delete;
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

struct Layer {
  std::string_view name;
  int64_t cols;
  std::vector<int64_t> rows;  // of weights that go together
};
struct Kind {
  std::string_view name;
  ElementType type;
  ProductScales scales;
};

// Seconds of one link, 0 where it was refused.
double seconds(int links, const std::function<bool(int, cudaStream_t)>& link) {
  cudaStream_t stream{};
  check(cudaStreamCreate(&stream));
  if (!link(0, stream)) {
    cudaStreamDestroy(stream);
    return 0;
  }
  check(cudaStreamSynchronize(stream));
  const double each = seconds_of_link(links, stream, [&](int i) { link(i, stream); });
  cudaStreamDestroy(stream);
  return each;
}

class LayerBench {
 public:
  LayerBench(const Layer& layer, const Kind& kind)
      : layer_(layer),
        kind_(kind),
        element_bytes_(kind.type == ElementType::kBF16 ? 2 : 1),
        rows_(std::accumulate(layer.rows.begin(), layer.rows.end(), int64_t{0})),
        links_(static_cast<int>(std::clamp<int64_t>((int64_t{1} << 30) / weight_bytes(), 4, 32))),
        weights_(static_cast<size_t>(links_ * weight_bytes())),
        inputs_(static_cast<size_t>(kMostTokens * layer.cols * element_bytes_)),
        weight_scales_(static_cast<size_t>(rows_ * cuda::block_scale_spans(layer.cols)) * 4),
        input_scales_(static_cast<size_t>(kMostTokens * layer.cols / 128) * 4),
        outputs_(static_cast<size_t>(kMostTokens * rows_) * 4) {}

  int64_t weight_bytes() const { return rows_ * layer_.cols * element_bytes_; }

  double ours(int32_t tokens) const {
    const bool in_blocks = kind_.scales == ProductScales::kBlocks;
    const int64_t spans = in_blocks ? layer_.cols / 128 : 0;
    const cuda::FloatInput x{
        kind_.type, inputs_.as<void>(), layer_.cols, input_scales_.as<float>(), spans,
        tokens,     {tokens, tokens}};
    return seconds(links_, [&](int link, cudaStream_t stream) {
      cuda::LinearParts parts{};
      parts.count = static_cast<int32_t>(layer_.rows.size());
      parts.cols = layer_.cols;
      parts.scale = 1;
      each_part(link, [&](size_t i, const std::byte* weights, int64_t first) {
        parts.part[i] = {.weights = weights,
                         .stride = layer_.cols * element_bytes_,
                         .row_scales = weight_scales_.as<float>(),
                         .scale_spans = in_blocks ? spans : 1,
                         .block_scales = in_blocks ? weight_scales_.as<float>() : nullptr,
                         .block_spans = cuda::block_scale_spans(layer_.cols),
                         .bias = nullptr,
                         .y = outputs_.as<float>() + first * kMostTokens,
                         .y_stride = layer_.rows[i],
                         .rows = static_cast<int32_t>(layer_.rows[i])};
        return true;
      });
      return cuda::linear_rows_sm90(kind_.type, parts, x, stream);
    });
  }

  double library(cuda::MatMulLibrary& library, int32_t tokens) const {
    return seconds(links_, [&](int link, cudaStream_t stream) {
      return each_part(link, [&](size_t i, const std::byte* weights, int64_t first) {
        return library.run({.type = kind_.type,
                            .weights = weights,
                            .weight_stride = layer_.cols,
                            .x = inputs_.as<void>(),
                            .x_stride = layer_.cols,
                            .y = outputs_.as<float>() + first * kMostTokens,
                            .y_stride = layer_.rows[i],
                            .rows = layer_.rows[i],
                            .cols = layer_.cols,
                            .tokens = tokens,
                            .tiles = {tokens, tokens},
                            .scales = kind_.scales,
                            .weight_scales = weight_scales_.as<float>(),
                            .x_scales = input_scales_.as<float>()},
                           stream);
      });
    });
  }

 private:
  // function(part, its weights, rows before it) until one gives false.
  template <class Function>
  bool each_part(int link, const Function& function) const {
    int64_t first = 0;
    for (size_t i = 0; i < layer_.rows.size(); first += layer_.rows[i++]) {
      const std::byte* const weights =
          weights_.as<std::byte>() + link * weight_bytes() + first * layer_.cols * element_bytes_;
      if (!function(i, weights, first)) return false;
    }
    return true;
  }

  const Layer& layer_;
  const Kind& kind_;
  int64_t element_bytes_;
  int64_t rows_;
  int links_;
  RandomMemory weights_;
  RandomMemory inputs_;
  RandomMemory weight_scales_;
  RandomMemory input_scales_;
  RandomMemory outputs_;
};

int run(double terabytes) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 || !cuda::is_hopper()) {
    fmt::print(stderr, "no Hopper GPU on this machine, or no code for one in this program\n");
    return 1;
  }
  const std::unique_ptr<cuda::MatMulLibrary> library = cuda::MatMulLibrary::open();
  const std::vector<Layer> layers{{"q+k+v", 4096, {4096, 1024, 1024}},
                                  {"o", 4096, {4096}},
                                  {"gate+up", 4096, {14336, 14336}},
                                  {"down", 14336, {4096}}};
  fmt::print("microseconds a layer, share of {} TB/s; then the library's\n", terabytes);
  for (const Kind& kind : {Kind{"fp8 rows", ElementType::kE4M3, ProductScales::kOuter},
                           Kind{"fp8 blocks", ElementType::kE4M3, ProductScales::kBlocks},
                           Kind{"int8", ElementType::kInt8, ProductScales::kNone},
                           Kind{"bf16", ElementType::kBF16, ProductScales::kNone}}) {
    std::vector<double> ours_in_all(5);
    std::vector<double> library_in_all(5);
    for (const Layer& layer : layers) {
      const LayerBench bench(layer, kind);
      const double floor = static_cast<double>(bench.weight_bytes()) / (terabytes * 1e12);
      size_t column = 0;
      for (const int32_t tokens : {16, 32, 64, 128, 256}) {
        const double ours = bench.ours(tokens);
        const double other = library == nullptr ? 0 : bench.library(*library, tokens);
        ours_in_all[column] += ours;
        library_in_all[column++] += other;
        fmt::print("  {:10} {:8} {:4} {:8.2f} us {:5.1f} %", kind.name, layer.name, tokens,
                   ours * 1e6, 100 * floor / ours);
        if (other > 0) fmt::print("   {:8.2f} us {:5.1f} %", other * 1e6, 100 * floor / other);
        fmt::print("\n");
      }
    }
    size_t column = 0;
    for (const int32_t tokens : {16, 32, 64, 128, 256}) {
      fmt::print("  {:10} {:8} {:4} {:8.2f} us           {:8.2f} us\n", kind.name, "all", tokens,
                 ours_in_all[column] * 1e6, library_in_all[column] * 1e6);
      ++column;
    }
  }
  return 0;
}

}  // namespace
}  // namespace ingot

int main(int count, char** values) {
  return ingot::run(count > 1 ? std::atof(values[1]) : 4.27);
}
