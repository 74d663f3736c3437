// SPDX-License-Identifier: Apache-2.0
// The one forward pass: walks the spec over a ragged batch. Written against ops; knows nothing of
// requests, scheduling or sampling. Its buffers grow to the largest batch seen and stay.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/activations.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/exec.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "model/batch.h"
#include "model/kv_cache.h"
#include "model/model.h"
#include "model/rope_table.h"

namespace ingot {

// What the linears of a layer read: q, k and v; o; gate and up; down.
enum class LinearInput : uint8_t { kMixerIn, kMixerInner, kFfnIn, kFfnInner };
inline constexpr size_t kLinearInputs = 4;

// Engine thread only.
class Decoder {
 public:
  // `cache_type` chooses the attention kernel and must match the caches given to forward().
  static Result<Decoder> create(std::shared_ptr<const Model> model, Exec exec,
                                KvCacheType cache_type);

  const Model& model() const { return *model_; }
  // Runs the batch, writes its keys and values into their pages, and returns the logits of its
  // output rows, [output_rows, vocab], valid until the next call. Fails only when the checkpoint
  // was truncated under the running program. Tokens and positions must be in range (INGOT_CHECK).
  Result<std::span<const float>> forward(const Batch& batch, const KvCache& cache);
  // After forward(): what the head would see of the batch's hidden rows, behind the final norm,
  // [hidden_rows, hidden]; valid until the next call.
  std::span<const float> hidden_states() const { return hidden_states_; }

  // The layers alone, on hidden states [rows, hidden] that somebody else embedded: in place. The
  // batch's tokens only count; its output rows do not.
  Status run_layers(const Batch& batch, const KvCache& cache, std::span<float> hidden);
  // Embeds the batch's tokens, [rows, hidden]; and the logits of such rows behind all layers,
  // [rows, vocab]. Both valid until the next call.
  std::span<const float> embed_tokens(const Batch& batch, const KvCache& cache);
  std::span<const float> logits_of(std::span<const float> hidden);

  // For tests and analysis: called with each layer's output, [rows, hidden].
  std::function<void(size_t layer, std::span<const float> hidden)> on_layer;
  // Called with what linears are about to read, [rows, cols]; false ends the layers' part of the
  // pass there.
  std::function<bool(size_t layer, LinearInput input, std::span<const float> x)> on_input;

 private:
  Decoder(std::shared_ptr<const Model> model, Exec exec, KvCacheType cache_type);
  void set_sequences(const Batch& batch, const KvCache& cache);
  void embed(const Batch& batch);
  // False where on_input ended it.
  bool run_layer(size_t index, const KvCache& cache);
  bool is_wanted(size_t layer, LinearInput input, const Activations& x) const;
  bool attend(size_t index, const AttentionSpec& spec, const KvCache& cache, float* out);
  void project_qkv(const AttentionSpec& spec, const LayerWeights& weights);
  void normalize_qk(const AttentionSpec& spec, const LayerWeights& weights);
  void rotate(const AttentionSpec& spec);
  bool feed_forward(size_t index, const DenseFfnSpec& spec, float* out);
  void normalize(const NormSpec& spec, const NormWeights& weights, const float* x, float* y,
                 int64_t rows, int64_t dim) const;
  void add_branch(const float* branch);
  // The rows named, behind the final norm.
  void select(std::span<const int64_t> rows, std::vector<float>& out);
  std::span<const float> compute_logits(const Batch& batch);

  std::shared_ptr<const Model> model_;
  Exec exec_;
  const AttentionKernel* attention_ = nullptr;
  const NormKernel* norm_ = nullptr;
  const RopeKernel* rope_ = nullptr;
  const ElementwiseKernels* elementwise_ = nullptr;
  std::vector<RopeTable> ropes_;
  std::vector<std::vector<SequenceRows>> sequences_;  // per cache group; they differ in pages
  int64_t rows_ = 0;
  Activations activations_;
  Activations inner_activations_;  // for inputs inside a branch, while the branch's own stay packed
  std::vector<float> hidden_, normed_, branch_, second_branch_;  // [rows, hidden]
  std::vector<float> q_, k_, v_, attended_;                      // [rows, heads * dim]
  std::vector<float> gate_, up_;                                 // [rows, ffn hidden]
  std::vector<float> selected_, projected_, logits_;
  std::vector<float> wanted_;  // [hidden rows, hidden]
  std::span<const float> hidden_states_;
};

}  // namespace ingot
