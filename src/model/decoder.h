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
#include "kernels/exec.h"
#include "kernels/ops.h"
#include "model/batch.h"
#include "model/kv_cache.h"
#include "model/model.h"
#include "model/rope_table.h"
#include "model/step_output.h"

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
  // The same in two parts, with the tokens of output rows chosen where their logits lie: one of
  // `sampling` for each. Rows that were not sampled there have their logits. Where samples_rows()
  // is false none is. Between the two a device has all of the step to do.
  Status start(const Batch& batch, const KvCache& cache, std::span<const RowSampling> sampling);
  Result<StepOutput> finish();
  bool samples_rows() const { return model_->is_head_on_device(); }
  // Whether a second step may be started before the one just started is finished, with tokens that
  // only the device knows (see OpsStep). Its finish() says nothing of rows that were not sampled.
  bool can_start_another() const;
  // After finish(): what the head would see of the batch's hidden rows, behind the final norm,
  // [hidden_rows, hidden]; valid until the next call.
  std::span<const float> hidden_states() const { return hidden_states_; }

  // The layers alone, on hidden states [rows, hidden] that somebody else embedded: in place. The
  // batch's tokens only count; its output rows do not.
  Status run_layers(const Batch& batch, const KvCache& cache, std::span<float> hidden);
  // Embeds the batch's tokens, [rows, hidden]; and the logits of such rows behind all layers,
  // [rows, vocab]. Both valid until the next call.
  Result<std::span<const float>> embed_tokens(const Batch& batch, const KvCache& cache);
  Result<std::span<const float>> logits_of(std::span<const float> hidden);

  // For tests and analysis: called with each layer's output, [rows, hidden].
  std::function<void(size_t layer, std::span<const float> hidden)> on_layer;
  // Called with what linears are about to read, [rows, cols]; false ends the layers' part of the
  // pass there.
  std::function<bool(size_t layer, LinearInput input, std::span<const float> x)> on_input;

 private:
  Decoder(std::shared_ptr<const Model> model, Exec exec, KvCacheType cache_type);
  // What is left to do of a step that was started.
  struct Started {
    int64_t outputs = 0;
    int64_t hidden = 0;
    bool is_overtaken = false;  // by the next, which has its buffers
    bool is_sampled = false;    // where the logits lie, as far as it can be
    bool is_all_there = false;  // all of it: nothing but tokens is to be read
  };
  Status run(const KvCache& cache, const Started& started);
  // Embedding and layers.
  Status walk(const KvCache& cache);
  // What of a step does not depend on where it runs; begins it on every device of the model.
  void begin(const Batch& batch, const KvCache& cache, std::span<const RowSampling> sampling = {});
  // Goes on where a layer, or the head, lies; the hidden states go along.
  Status go_to(bool is_on_device);
  void embed();
  // False where on_input ended it.
  Result<bool> run_layer(size_t index, const KvCache& cache);
  Result<bool> is_wanted(size_t layer, LinearInput input, const float* x, int64_t cols) const;
  Result<bool> attend(size_t index, const AttentionSpec& spec, const KvCache& cache, float* out);
  void project_qkv(const AttentionSpec& spec, const LayerWeights& weights);
  void normalize_qk(const AttentionSpec& spec, const LayerWeights& weights);
  void rotate(const AttentionSpec& spec);
  Result<bool> feed_forward(size_t index, const DenseFfnSpec& spec, float* out);
  // The rows named, behind the final norm.
  float* select(RowList list, int64_t rows, Buffer into);
  void compute_logits(int64_t rows);
  Result<std::span<const float>> view_logits(int64_t rows);
  Result<StepOutput> take_output(const Started& started);
  float* buffer(Buffer which, int64_t cols) const { return ops_->buffer(which, rows_ * cols); }

  std::shared_ptr<const Model> model_;
  Exec exec_;
  std::unique_ptr<Ops> cpu_;
  std::unique_ptr<Ops> device_;  // null: all layers are the processor's
  Ops* ops_;                     // where the pass is just now
  std::vector<RopeTable> ropes_;
  std::vector<RopeAngles> angles_;
  std::vector<std::vector<SequenceRows>> sequences_;  // per cache group; they differ in pages
  std::vector<int32_t> position_rows_;
  std::vector<int64_t> first_rows_;  // 0, 1, ...: for logits of rows that are given
  int64_t rows_ = 0;
  float* hidden_ = nullptr;  // [rows, hidden], of ops_
  std::vector<float> moved_;
  float* q_ = nullptr;  // [rows, heads * dim]
  float* k_ = nullptr;
  float* v_ = nullptr;
  std::vector<Started> started_;         // at most two, the first to finish first
  std::vector<const float*> host_rows_;  // logits of output rows; null: they stayed where they are
  std::span<const float> hidden_states_;
};

}  // namespace ingot
