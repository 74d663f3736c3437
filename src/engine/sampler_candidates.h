// SPDX-License-Identifier: Apache-2.0
// The tokens that can still be drawn, while the stages of a chain take some away. Always in the
// order of their ids, never sorted: a stage finds where to cut by partial selection. At first it
// borrows the model's row of logits; only what is left of it is ever copied. All buffers stay for
// the next row. Engine thread only.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/sampling_ops.h"
#include "model/batch.h"

namespace ingot {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Keep keys above `key`, and of those equal to it the first `ties` (in the order of their ids).
struct Cut {
  float key;
  size_t ties;
};

class Candidates {
 public:
  explicit Candidates(TargetSet targets = TargetSet::of_this_machine())
      : kernels_(&choose_sampling(targets)) {}

  // A new row; `logits` must stay until the next. False when it holds NaN or plus infinity.
  [[nodiscard]] bool start(std::span<const float> logits);
  // Only tokens whose bit is on (a word for each 32 ids).
  void keep_allowed(std::span<const uint32_t> mask);
  void keep_ids(std::span<const TokenId> sorted_ids);

  size_t vocab() const { return vocab_; }
  size_t size() const { return logits_.size(); }
  // The logits as the stages so far leave them, before the temperature of `scale()`.
  std::span<const float> logits() const { return logits_; }
  TokenId id(size_t i) const { return is_all() ? static_cast<TokenId>(i) : ids_[i]; }
  bool is_all() const { return ids_.empty(); }  // candidate i is token i
  float top() const { return top_; }            // the largest logit; minus infinity: none is left
  TokenId best() const;                         // the lowest id among the largest

  // Logits that may be changed; rescan() when done. Pending temperature is worked in first.
  std::span<float> edit();
  bool rescan();  // false: there is a NaN

  // Temperature divides logits; it waits here, as cuts do not need it worked in.
  float scale() const { return scale_; }
  void multiply_scale(double factor);

  // Weights are e^((logit - top) * scale).
  WeightSums total();                // the sums alone
  std::span<const float> weights();  // and each
  LogitMoments moments(float center) const;

  void keep_best(size_t count);
  void keep_from(float floor);
  // The fewest of the most likely whose weights reach `share` of the total.
  void keep_nucleus(double share);
  // The same in the order of `keys` in [lowest_key, 0], largest first: until the sum is above.
  void keep_by_keys(std::span<const float> keys, float lowest_key, double share);
  void keep(Cut cut);
  void remove_above(Cut cut);  // the complement, less the last of the ties: see XTC

  // The candidate at `uniform` in [0, 1) of the distribution; its probability too.
  struct Drawn {
    TokenId id;
    double probability;
  };
  Drawn draw(double uniform);

 private:
  float find_floor(size_t count);
  Cut find_cut(std::span<const float> keys, std::span<const float> weights, float low, float high,
               double target, bool until_above);
  template <class Keep>
  void filter(std::span<const float> keys, Keep&& keep);
  void gather(size_t count);

  const SamplingKernels* kernels_;
  std::span<const float> logits_;  // the caller's row, or own_
  std::vector<float> own_;
  std::vector<TokenId> ids_;  // empty: all
  std::vector<float> block_max_;
  size_t vocab_ = 0;
  float top_ = 0;
  float scale_ = 1;
  std::vector<uint32_t> positions_;
  std::vector<float> weights_;
  std::vector<float> block_sums_;
  std::vector<float> scratch_;
  std::vector<float> near_logits_;  // of find_cut's first look
  std::vector<float> near_weights_;
  std::vector<double> buckets_;
  struct Key {
    float key;
    float weight;
    uint32_t at;
  };
  std::vector<Key> keys_;
};

}  // namespace ingot
