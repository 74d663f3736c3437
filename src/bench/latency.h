// SPDX-License-Identifier: Apache-2.0
// How long the model alone takes, without engine or sampling: prompts and single tokens, for given
// batch sizes and depths (tokens already in each sequence's cache), each beside the least time that
// this machine's memory allows at that time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "bench/machine.h"
#include "bench/spread.h"
#include "kernels/paged_kv.h"
#include "model/model.h"

namespace ingot {

struct LatencyOptions {
  std::vector<int64_t> prompts;    // lengths; 0: none
  std::vector<int64_t> generated;  // tokens; 0: none
  std::vector<int64_t> batches;    // sequences at the same time
  std::vector<int64_t> depths;
  int64_t pair_prompt = 0;     // a prompt and, behind it, generation: each timed by itself
  int64_t pair_generated = 0;  // either 0: none
  int repetitions = 3;
  int64_t tokens_per_step = 512;  // a longer batch of prompts is cut
  KvCacheType cache_type = KvCacheType::kF16;
  int64_t page_tokens = kDefaultPageTokens;
  uint64_t seed = 0;
  std::function<void(double fraction)> progress;  // may be empty
};

// Multiplies and adds of matrices, apart by what they multiply.
struct MatrixOps {
  double floats = 0;
  double bytes = 0;  // quantized activations
  double fp8 = 0;    // activations rounded to fp8, on a GPU

  void add(const MatrixOps& other, double times) {
    floats += other.floats * times;
    bytes += other.bytes * times;
    fp8 += other.fp8 * times;
  }
};

struct LatencyRecord {
  bool is_prompt = false;
  int64_t batch = 0;
  int64_t depth = 0;
  int64_t tokens = 0;           // of each sequence
  Spread tokens_per_second;     // of all sequences together, over the repetitions
  double bytes = 0;             // of weights, keys and values that a run reads, at least
  MatrixOps ops;                // of a run
  double seconds = 0;           // mean of a run
  double read_bytes_per_s = 0;  // of memory before and after its runs; 0: as in the machine's peaks

  double per_sequence() const { return tokens_per_second.mean / static_cast<double>(batch); }
  double step_seconds() const;                            // decode: of one token of every sequence
  double read_speed(const MachinePeaks& peaks) const;     // around its runs, or the machine's
  double floor_seconds(const MachinePeaks& peaks) const;  // to read the bytes of a run; 0: unknown
  // The least time for the bytes, and for the multiplies and adds, over the time it took.
  double share_of_bandwidth(const MachinePeaks& peaks) const;
  double share_of_peak(const MachinePeaks& peaks) const;
};

// Of the matrices that every token meets. The output head apart: it runs for the rows whose logits
// are wanted.
struct WeightCost {
  double bytes = 0;
  MatrixOps ops;
  double head_bytes = 0;
  MatrixOps head_ops;
};
WeightCost weight_cost(const Model& model);

Result<std::vector<LatencyRecord>> bench_latency(const std::shared_ptr<const Model>& model,
                                                 const Exec& exec, const LatencyOptions& options);

}  // namespace ingot
