// SPDX-License-Identifier: Apache-2.0
#include "bench/kernel_bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "base/cpu.h"
#include "bench/spread.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/input_rounding.h"
#include "kernels/linear.h"
#include "kernels/norm.h"

namespace ingot {
namespace {

// The sizes of a run.
struct Sizes {
  int64_t rows = 2048;
  int64_t cols = 8192;
  int64_t prompt_tokens = 512;
  int64_t context = 4096;
  size_t stream_bytes = streamed_bytes();
  int repeats = 9;
};
const Sizes kQuick{64, 512, 16, 64, 1 << 16, 2};

// Llama 3.2 1B: 32 heads over 8 kv heads of 64.
constexpr int64_t kHeads = 32;
constexpr int64_t kKvHeads = 8;
constexpr int64_t kHeadDim = 64;

std::vector<float> normals(int64_t count, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values)
    value = normal(engine);
  return values;
}

// Whole matrices of blocks that decode to ordinary numbers: one row's worth of random blocks, kept
// when moderate, repeated.
std::vector<std::byte> random_weights(Layout layout, int64_t cols, size_t size) {
  std::mt19937_64 engine(1);
  const LayoutInfo& about = info(layout);
  std::vector<std::byte> row(static_cast<size_t>(cols) / about.block_elements * about.block_bytes);
  std::vector<float> values(about.block_elements);
  for (size_t at = 0; at < row.size(); at += about.block_bytes) {
    const std::span<std::byte> block(row.data() + at, about.block_bytes);
    float largest = 0;
    do {
      for (std::byte& byte : block)
        byte = static_cast<std::byte>(engine() & 0xFF);
      dequantize(layout, block, values);
      largest = 0;
      for (const float value : values)
        largest = std::isfinite(value) ? std::max(largest, std::fabs(value)) : 1e9F;
    } while (largest < 1e-3F || largest > 1e3F);
  }
  std::vector<std::byte> bytes(size);
  for (size_t at = 0; at < size; at += row.size())
    std::memcpy(bytes.data() + at, row.data(), std::min(row.size(), size - at));
  return bytes;
}

// The same of weights whose scales lie apart; `codes` hold its bytes.
QuantTensor random_quant(Packing packing, int64_t rows, int64_t cols,
                         std::vector<std::byte>& codes) {
  QuantTensor tensor;
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.scheme.bits = info(packing).bits;
  tensor.scheme.group_columns = 128;
  std::mt19937_64 engine(1);
  codes.resize(static_cast<size_t>(rows * (cols * tensor.scheme.bits / 8)));
  for (std::byte& code : codes)
    code = static_cast<std::byte>(engine() & 0x77);  // no float of 8 bits among them is a NaN
  tensor.codes = codes;
  tensor.scales.assign(static_cast<size_t>(rows * tensor.groups()), 0.01F);
  if (is_e4m3(packing)) {
    tensor.scheme.meaning = CodeMeaning::kE4m3;
  } else if (info(packing).levels != nullptr) {
    tensor.scheme.meaning = CodeMeaning::kLevels;
  } else {
    tensor.zeros.assign(tensor.scales.size(), 3);
  }
  return tensor;
}

// Median and spread of the middle half into a record.
template <class Function>
KernelRecord timed(const Exec& exec, int repeats, std::string name, std::string work,
                   Function&& function) {
  std::vector<double> seconds = time_calls(exec, repeats, function);
  std::ranges::sort(seconds);
  KernelRecord record;
  record.name = std::move(name);
  record.work = std::move(work);
  record.seconds = std::max(percentile(seconds, 0.5), 1e-12);
  record.spread = (percentile(seconds, 0.75) - percentile(seconds, 0.25)) / record.seconds;
  return record;
}

class KernelBench {
 public:
  KernelBench(const Exec& exec, const Sizes& sizes) : exec_(exec), sizes_(sizes) {}

  void linear(const LinearKernel& kernel, Layout layout);
  void pack(const PackKernel& kernel);
  void round(const RoundKernel& kernel);
  void decode_attention(const AttentionKernel& kernel);
  void prompt_attention(const AttentionKernel& kernel, int64_t context);
  void elementwise(const ElementwiseKernels& kernels);
  void norm(const NormKernel& kernel);
  void barrier();
  // Of the records since the last call.
  void set_target(Target target) {
    for (; named_ < records_.size(); ++named_)
      records_[named_].target = target;
  }
  std::vector<KernelRecord> take() { return std::move(records_); }

 private:
  const Exec& exec_;
  const Sizes sizes_;
  std::vector<KernelRecord> records_;
  size_t named_ = 0;
};

void KernelBench::linear(const LinearKernel& kernel, Layout layout) {
  const int64_t rows = sizes_.rows;
  const int64_t cols = sizes_.cols;
  const bool is_quant = is_quant_packing(kernel.packing);
  const auto row_bytes =
      is_quant ? 0 : static_cast<int64_t>(storage_bytes(layout, CheckedSize(cols)).value_or(0));
  std::vector<std::byte> file;
  QuantTensor quant;
  if (is_quant) {
    quant = random_quant(kernel.packing, rows, cols, file);
  } else {
    file = random_weights(layout, cols, static_cast<size_t>(row_bytes * rows));
  }
  const bool is_packed = kernel.packing != Packing::kRows;
  const int64_t panels = (rows + kPanelRows - 1) / kPanelRows;
  const int64_t stride = is_packed ? panel_shape(kernel.packing, cols).panel : row_bytes;
  const auto matrix_bytes = static_cast<size_t>(is_packed ? stride * panels : row_bytes * rows);
  const size_t matrices = sizes_.stream_bytes / matrix_bytes + 1;
  WeightMemory memory;
  auto allocated = memory.allocate(matrix_bytes * matrices);
  if (!allocated.is_ok()) return;
  std::byte* weights = *allocated;
  for (size_t i = 0; i < matrices; ++i) {
    std::byte* to = weights + i * matrix_bytes;
    if (i > 0) {
      std::memcpy(to, weights, matrix_bytes);
    } else if (is_packed) {
      pack_panels({layout, file.data(), row_bytes, rows, cols, is_quant ? &quant : nullptr},
                  kernel.packing, 0, panels, to);
    } else {
      std::memcpy(to, file.data(), matrix_bytes);
    }
  }
  const std::vector<float> input = normals(cols * sizes_.prompt_tokens, 2);
  std::vector<float> y(static_cast<size_t>(rows * sizes_.prompt_tokens));

  Activations x(TargetSet::of_this_machine());  // as in a model: its memory is there
  const auto run = [&](int64_t tokens, size_t count) {
    x.set(input.data(), tokens, cols);
    LinearArgs args{.layout = layout,
                    .weights = nullptr,
                    .weight_stride = stride,
                    .rows = rows,
                    .cols = cols,
                    .x = x.rows(kernel.activation_of(x.tokens()), exec_),
                    .tokens = tokens,
                    .y = y.data(),
                    .y_stride = rows,
                    .bias = nullptr,
                    .weights_ahead = detect_cpu_features().weights_ahead,
                    .l2_bytes = l2_cache_bytes()};
    for (size_t i = 0; i < count; ++i) {
      args.weights = weights + i * matrix_bytes;
      exec_.for_ranges(rows, kPanelRows,
                       [&](int64_t begin, int64_t end) { kernel.run(args, begin, end); });
    }
  };
  const std::string name =
      is_quant ? std::string(kernel.name) : fmt::format("{} {}", kernel.name, info(layout).name);
  const bool is_scalar = kernel.target == Target::kScalar;
  const size_t streamed = is_scalar ? 1 : matrices;
  const int64_t many =
      is_scalar ? std::min<int64_t>(8, sizes_.prompt_tokens) : sizes_.prompt_tokens;
  const double weights_of_one = static_cast<double>(rows) * static_cast<double>(cols);
  const bool is_float = kernel.activation == ActivationLayout::kF32;

  const auto record = [&](int64_t tokens, size_t count, int repeats) -> KernelRecord& {
    KernelRecord& made = records_.emplace_back(
        timed(exec_, repeats, name, fmt::format("{} tokens, {} x {}", tokens, rows, cols),
              [&] { run(tokens, count); }));
    made.seconds /= static_cast<double>(count);
    made.ops = 2 * weights_of_one * static_cast<double>(tokens);
    made.is_float = is_float;
    if (kernel.activation == ActivationLayout::kBF16) made.kind = OpKind::kBf16;
    return made;
  };
  record(1, streamed, is_scalar ? 3 : sizes_.repeats).bytes = static_cast<double>(matrix_bytes);
  if (is_scalar) {
    record(many, 1, 1);
    return;
  }
  for (const int64_t tokens : {int64_t{4}, int64_t{8}, int64_t{16}, int64_t{32}, many}) {
    if (tokens > many) continue;  // the inputs are no more
    record(tokens, tokens < 32 ? streamed : 1, std::min(3, sizes_.repeats));
  }
}

void KernelBench::pack(const PackKernel& kernel) {
  const std::vector<float> x = normals(sizes_.cols * 64, 3);
  std::vector<std::byte> out(activation_row_bytes(kernel.layout, sizes_.cols) * 64);
  const PackArgs args{x.data(), sizes_.cols, out.data()};
  records_.push_back(
      timed(exec_, sizes_.repeats, kernel.name, fmt::format("64 x {}", sizes_.cols), [&] {
        exec_.for_ranges(64, 1, [&](int64_t begin, int64_t end) { kernel.run(args, begin, end); });
      }));
}

void KernelBench::round(const RoundKernel& kernel) {
  const std::vector<float> x = normals(sizes_.cols * 64, 3);
  std::vector<std::byte> out(activation_row_bytes(kernel.layout, sizes_.cols) * 64);
  std::vector<float> scales(x.size() / kScaleColumns + 64);
  const InputQuant quant{.kind = kernel.kind};
  const RoundArgs args{x.data(), sizes_.cols, &quant, out.data(), scales.data()};
  records_.push_back(
      timed(exec_, sizes_.repeats, kernel.name, fmt::format("64 x {}", sizes_.cols), [&] {
        exec_.for_ranges(64, 1, [&](int64_t begin, int64_t end) { kernel.run(args, begin, end); });
      }));
}

// Keys and values of one sequence, stored by the kernel, and as many copies as asked for.
struct Cache {
  PagedKv kv;
  std::vector<std::byte> memory;
  std::vector<std::vector<PageId>> tables;  // [sequence]

  Cache(const AttentionKernel& kernel, const Exec& exec, int64_t context, size_t sequences) {
    kv.shape = {kernel.type, kKvHeads, kHeadDim, kHeadDim};
    kv.page_stride = kv.shape.page_bytes();
    const auto pages = static_cast<size_t>((context + kDefaultPageTokens - 1) / kDefaultPageTokens);
    const size_t bytes = pages * static_cast<size_t>(kv.page_stride);
    memory.resize(bytes * sequences);
    kv.data = memory.data();
    tables.assign(sequences, std::vector<PageId>(pages));
    for (size_t s = 0; s < sequences; ++s)
      for (size_t i = 0; i < pages; ++i)
        tables[s][i] = static_cast<PageId>(s * pages + i);
    const int64_t stride = kKvHeads * kHeadDim;
    const std::vector<float> input = normals(context * stride, 4);
    const SequenceRows all{0, context, 0, tables[0].data()};
    kernel.store({kv, input.data(), stride, input.data(), stride, {&all, 1}}, exec);
    for (size_t s = 1; s < sequences; ++s)
      std::memcpy(memory.data() + s * bytes, memory.data(), bytes);
  }
};

AttentionArgs attention_args(const Cache& cache, const std::vector<float>& q,
                             std::vector<float>& out, std::span<const SequenceRows> sequences) {
  constexpr int64_t kStride = kHeads * kHeadDim;
  return {cache.kv, q.data(), kStride, out.data(), kStride, kHeads,
          0.125F,   0,        0,       nullptr,    nullptr, sequences};
}

// Multiplies and adds of rows at positions [first, first + rows).
double attention_ops(int64_t rows, int64_t first) {
  const double positions = static_cast<double>(rows) * static_cast<double>(first) +
                           static_cast<double>(rows) * static_cast<double>(rows + 1) / 2;
  return positions * kHeads * kHeadDim * 4;
}

void KernelBench::decode_attention(const AttentionKernel& kernel) {
  const int64_t context = sizes_.context;
  const PagedKvShape shape{kernel.type, kKvHeads, kHeadDim, kHeadDim};
  const auto bytes = static_cast<double>(shape.token_bytes() * context);
  const auto count = static_cast<size_t>(static_cast<double>(sizes_.stream_bytes) / bytes) + 1;
  const Cache cache(kernel, exec_, context, count);
  const auto rows = static_cast<int64_t>(count);
  const std::vector<float> q = normals(rows * kHeads * kHeadDim, 5);
  std::vector<float> out(q.size());
  std::vector<SequenceRows> sequences;
  for (size_t i = 0; i < count; ++i)
    sequences.push_back({static_cast<int64_t>(i), 1, context - 1, cache.tables[i].data()});
  const AttentionArgs args = attention_args(cache, q, out, sequences);
  KernelRecord& record = records_.emplace_back(
      timed(exec_, std::min(5, sizes_.repeats), kernel.name, fmt::format("1 row at {}", context),
            [&] { kernel.run(args, exec_); }));
  record.seconds /= static_cast<double>(count);
  record.bytes = bytes;
  record.ops = attention_ops(1, context - 1);
}

void KernelBench::prompt_attention(const AttentionKernel& kernel, int64_t context) {
  const int64_t rows = std::min(sizes_.prompt_tokens, context);
  const Cache cache(kernel, exec_, context, 1);
  const std::vector<float> q = normals(rows * kHeads * kHeadDim, 5);
  std::vector<float> out(q.size());
  const SequenceRows last{0, rows, context - rows, cache.tables[0].data()};
  const AttentionArgs args = attention_args(cache, q, out, {&last, 1});
  KernelRecord& record = records_.emplace_back(
      timed(exec_, std::min(3, sizes_.repeats), kernel.name,
            fmt::format("{} rows at {}", rows, context), [&] { kernel.run(args, exec_); }));
  record.ops = attention_ops(rows, context - rows);
}

void KernelBench::elementwise(const ElementwiseKernels& kernels) {
  const std::vector<float> x = normals(64 * sizes_.cols, 6);
  std::vector<float> y(x.size());
  const auto count = static_cast<int64_t>(x.size());
  constexpr std::pair<Activation, const char*> kActivations[] = {
      {Activation::kSilu, "silu"},
      {Activation::kGelu, "gelu"},
      {Activation::kGeluTanh, "gelu_tanh"}};
  for (const auto& [activation, name] : kActivations) {
    records_.push_back(timed(exec_, sizes_.repeats, kernels.name,
                             fmt::format("{}, 64 x {}", name, sizes_.cols),
                             [&, chosen = activation] {
                               kernels.activate(chosen, x.data(), x.data(), y.data(), count);
                             }));
  }
}

void KernelBench::norm(const NormKernel& kernel) {
  const std::vector<float> x = normals(64 * sizes_.cols, 6);
  std::vector<float> y(x.size());
  const NormArgs args{NormKind::kRms, x.data(), sizes_.cols, y.data(), sizes_.cols,
                      sizes_.cols,    1e-5F,    x.data(),    1,        nullptr};
  records_.push_back(
      timed(exec_, sizes_.repeats, kernel.name, fmt::format("64 x {}", sizes_.cols), [&] {
        exec_.for_ranges(64, 1, [&](int64_t begin, int64_t end) { kernel.run(args, begin, end); });
      }));
}

// With work in every share no thread can take over another's: what remains above the work is the
// way to the workers and back.
void KernelBench::barrier() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kWork = std::chrono::microseconds(5);
  const int runs = sizes_.repeats > 2 ? 2000 : 10;
  const ThreadPool::Step step = exec_.with_threads(exec_.threads());
  const auto record = [&](std::string work, double known, auto&& share) {
    KernelRecord& one =
        records_.emplace_back(timed(exec_, sizes_.repeats, "barrier",
                                    fmt::format("{}, {} threads", work, exec_.threads()), [&] {
                                      for (int i = 0; i < runs; ++i)
                                        exec_.for_ranges(exec_.threads(), 1, share);
                                    }));
    one.seconds = std::max(one.seconds / runs - known, 1e-12);
  };
  record("shares that do nothing", 0, [](int64_t, int64_t) {});
  record("above shares of 5 us", 5e-6, [&](int64_t, int64_t) {
    const Clock::time_point end = Clock::now() + kWork;
    while (Clock::now() < end) {
    }
  });
}

// Layouts are written Q8_0 and kernels linear_groups8: neither way of typing should matter.
bool has_part(std::string_view name, std::string_view part) {
  const auto is_same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return part.empty() ||
         std::search(name.begin(), name.end(), part.begin(), part.end(), is_same) != name.end();
}

}  // namespace

double KernelRecord::share_of_bandwidth(const MachinePeaks& peaks) const {
  return peaks.read_bytes_per_s > 0 ? bytes_per_s() / peaks.read_bytes_per_s : 0;
}

double KernelRecord::share_of_peak(const MachinePeaks& peaks) const {
  const double peak = peaks.ops_per_s(target, is_float ? OpKind::kFloat : kind);
  return peak > 0 ? ops_per_s() / peak : 0;
}

double KernelRecord::share_of_limit(const MachinePeaks& peaks) const {
  return std::max(bytes > 0 ? share_of_bandwidth(peaks) : 0, ops > 0 ? share_of_peak(peaks) : 0);
}

std::vector<KernelRecord> bench_kernels(const Exec& exec, const KernelBenchOptions& options) {
  const Sizes sizes = options.is_quick ? kQuick : Sizes{};
  KernelBench bench(exec, sizes);
  const TargetSet targets = TargetSet::of_this_machine();
  std::vector<std::pair<std::string, std::function<void()>>> todo;
  const auto add = [&](std::string name, Target target, std::function<void()> run) {
    if (!targets.has(target)) return;
    if (options.part.empty() && target == Target::kScalar) return;  // slow; ask for them by name
    if (!has_part(name, options.part)) return;
    todo.emplace_back(std::move(name), [&bench, target, run = std::move(run)] {
      run();
      bench.set_target(target);
    });
  };
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    const LinearKernel* best = choose_linear(layout, sizes.cols, targets);
    if (best == nullptr) continue;
    for (const LinearKernel& kernel : linear_kernels()) {
      const bool is_plain = kernel.packing == packing_of(layout, sizes.cols);
      if (kernel.packing != best->packing && !is_plain) continue;
      add(fmt::format("{} {}", kernel.name, info(layout).name), kernel.target,
          [&bench, &kernel, layout] { bench.linear(kernel, layout); });
    }
  }
  for (const LinearKernel& kernel : linear_kernels()) {
    if (!is_quant_packing(kernel.packing)) continue;
    add(kernel.name, kernel.target, [&bench, &kernel] { bench.linear(kernel, Layout::kU8); });
  }
  for (const PackKernel& kernel : pack_kernels())
    add(kernel.name, kernel.target, [&] { bench.pack(kernel); });
  for (const RoundKernel& kernel : round_kernels())
    add(kernel.name, kernel.target, [&] { bench.round(kernel); });
  for (const AttentionKernel& kernel : attention_kernels()) {
    add(kernel.name, kernel.target, [&] {
      bench.decode_attention(kernel);
      bench.prompt_attention(kernel, sizes.prompt_tokens);
      bench.prompt_attention(kernel, sizes.context);
    });
  }
  for (const ElementwiseKernels& kernels : elementwise_kernels())
    add(kernels.name, kernels.target, [&] { bench.elementwise(kernels); });
  for (const NormKernel& kernel : norm_kernels())
    add(kernel.name, kernel.target, [&] { bench.norm(kernel); });
  if (std::string_view("barrier").find(options.part) != std::string_view::npos)
    todo.emplace_back("barrier", [&] { bench.barrier(); });

  for (size_t i = 0; i < todo.size(); ++i) {
    if (options.progress)
      options.progress(static_cast<double>(i) / static_cast<double>(todo.size()), todo[i].first);
    todo[i].second();
  }
  return bench.take();
}

}  // namespace ingot
