// SPDX-License-Identifier: Apache-2.0
#include "model/decoder.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.h"
#include "kernels/cpu_ops.h"

namespace ingot {
namespace {

bool has_prompts(const Batch& batch) {
  return std::ranges::any_of(batch.sequences, [](const BatchSequence& s) { return s.tokens > 1; });
}

NormOp norm_op(const NormSpec& spec, const NormWeights& weights) {
  return {spec.kind, spec.eps, weights.weight, weights.bias};
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const Model> model, Exec exec, KvCacheType cache_type)
    : model_(std::move(model)),
      exec_(exec),
      cpu_(std::make_unique<CpuOps>(exec, model_->targets(), cache_type)),
      ops_(cpu_.get()) {
  for (const RopeSpec& rope : model_->spec().ropes)
    ropes_.emplace_back(rope, model_->spec().context);
}

Result<Decoder> Decoder::create(std::shared_ptr<const Model> model, Exec exec,
                                KvCacheType cache_type) {
  Decoder decoder(std::move(model), exec, cache_type);
  if (decoder.model_->device() != nullptr) {
    INGOT_TRY(decoder.device_, decoder.model_->device()->make_ops());
    decoder.device_->set_batch_invariant(decoder.model_->is_batch_invariant());
  }
  return decoder;
}

void Decoder::begin(const Batch& batch, const KvCache& cache,
                    std::span<const RowSampling> sampling) {
  const ModelSpec& spec = model_->spec();
  rows_ = std::ssize(batch.tokens);
  const int64_t sampled = started_.empty() ? 0 : started_[0].outputs;
  for (const TokenId token : batch.tokens)
    INGOT_CHECK(token >= -sampled && token < spec.vocab);
  sequences_.resize(cache.groups().size());
  for (size_t group = 0; group < sequences_.size(); ++group) {
    sequences_[group].clear();
    int64_t row = 0;
    for (const BatchSequence& sequence : batch.sequences) {
      INGOT_CHECK(sequence.tables.size() == sequences_.size());
      const PageTable& table = sequence.tables[group];
      INGOT_CHECK(static_cast<int64_t>(table.size()) * cache.page_tokens() >=
                  sequence.first_position + sequence.tokens);
      sequences_[group].push_back({row, sequence.tokens, sequence.first_position, table.data()});
      row += sequence.tokens;
    }
    INGOT_CHECK(row == rows_);
  }
  angles_.clear();
  for (RopeTable& rope : ropes_) {
    rope.fill(batch);
    angles_.push_back({rope.spec().pairing, rope.cos(), rope.sin(), rope.pairs()});
  }
  position_rows_.clear();
  if (spec.learned_positions > 0) {
    for (const BatchSequence& sequence : batch.sequences) {
      for (int64_t i = 0; i < sequence.tokens; ++i) {
        const int64_t position = sequence.first_position + i + spec.position_offset;
        INGOT_CHECK(position < spec.learned_positions);
        position_rows_.push_back(static_cast<int32_t>(position));
      }
    }
  }
  const OpsStep step{.tokens = batch.tokens,
                     .groups = sequences_,
                     .page_tokens = cache.page_tokens(),
                     .ropes = angles_,
                     .position_rows = position_rows_,
                     .output_rows = batch.output_rows,
                     .hidden_rows = batch.hidden_rows,
                     .sampling = sampling,
                     .has_prompts = has_prompts(batch),
                     .cache = &cache};
  cpu_->begin(step);
  if (device_ != nullptr) device_->begin(step);
}

Status Decoder::go_to(bool is_on_device) {
  Ops* const next = is_on_device ? device_.get() : cpu_.get();
  INGOT_CHECK(next != nullptr);
  if (next == ops_) return Status::ok();
  const int64_t count = rows_ * model_->spec().hidden;
  moved_.resize(static_cast<size_t>(count));
  INGOT_TRY(ops_->read(hidden_, moved_));
  ops_ = next;
  hidden_ = ops_->buffer(Buffer::kHidden, count);
  ops_->write(hidden_, moved_);
  return Status::ok();
}

Result<std::span<const float>> Decoder::forward(const Batch& batch, const KvCache& cache) {
  INGOT_TRY(start(batch, cache, {}));
  INGOT_TRY(const StepOutput output, finish());
  return output.all_logits();
}

Status Decoder::start(const Batch& batch, const KvCache& cache,
                      std::span<const RowSampling> sampling) {
  INGOT_CHECK(sampling.empty() || sampling.size() == batch.output_rows.size());
  INGOT_CHECK(started_.empty() || can_start_another());
  Started started;
  started.outputs = std::ssize(batch.output_rows);
  started.hidden = std::ssize(batch.hidden_rows);
  started.is_sampled = !sampling.empty() && samples_rows();
  started.is_all_there =
      model_->is_all_on_device() && started.is_sampled && started.hidden == 0 &&
      std::ranges::none_of(sampling, [](const RowSampling& row) { return row.is_on_host; });
  if (!started_.empty()) started_[0].is_overtaken = true;
  begin(batch, cache, sampling);
  hidden_states_ = {};
  const auto run_with_threads = [&] {
    const ThreadPool::Step step = exec_.begin_step(has_prompts(batch));
    return run(cache, started);
  };
  const Status status = model_->is_all_on_device() ? run(cache, started) : run_with_threads();
  if (!status.is_ok()) {
    static_cast<void>(ops_->finish());  // it drops what was queued
    return status;
  }
  INGOT_TRY(ops_->finish());
  started_.push_back(started);
  return Status::ok();
}

bool Decoder::can_start_another() const {
  return started_.size() == 1 && started_[0].is_all_there;
}

Status Decoder::run(const KvCache& cache, const Started& started) {
  const bool can_replay = model_->is_all_on_device() && started.hidden == 0 && !on_layer &&
                          !on_input && started.outputs == rows_;
  if (can_replay) {
    ops_ = device_.get();
    if (!ops_->replay()) {
      INGOT_TRY(walk(cache));
      compute_logits(started.outputs);
      ops_->end_pass();
    }
  } else {
    INGOT_TRY(walk(cache));
    INGOT_TRY(go_to(model_->is_head_on_device()));
    compute_logits(started.outputs);
  }
  if (started.is_sampled) {
    const int64_t vocab = model_->spec().vocab;
    ops_->start_sampling(ops_->buffer(Buffer::kLogits, started.outputs * vocab), vocab);
  }
  return Status::ok();
}

Result<StepOutput> Decoder::finish() {
  INGOT_CHECK(!started_.empty());
  const Started started = started_.front();
  started_.erase(started_.begin());
  INGOT_TRY(const StepOutput output, take_output(started));
  if (started.hidden > 0) {
    const ThreadPool::Step step = exec_.begin_step(started.hidden > 1);
    const float* wanted = select(RowList::kHidden, started.hidden, Buffer::kWanted);
    const auto count = static_cast<size_t>(started.hidden * model_->spec().hidden);
    INGOT_TRY(hidden_states_, ops_->view(wanted, count));
    INGOT_TRY(ops_->finish());
  }
  INGOT_TRY(model_->checkpoint().check_intact());
  return output;
}

Status Decoder::walk(const KvCache& cache) {
  embed();
  bool goes_on = true;
  for (size_t i = 0; i < model_->layers().size() && goes_on; ++i) {
    INGOT_TRY(go_to(model_->spec().layers[i].is_on_device));
    INGOT_TRY(goes_on, run_layer(i, cache));
    if (goes_on && on_layer) {
      INGOT_TRY(const std::span<const float> hidden,
                ops_->view(hidden_, static_cast<size_t>(rows_ * model_->spec().hidden)));
      on_layer(i, hidden);
    }
  }
  return Status::ok();
}

Status Decoder::run_layers(const Batch& batch, const KvCache& cache, std::span<float> hidden) {
  const ThreadPool::Step step = exec_.begin_step(has_prompts(batch));
  begin(batch, cache);
  INGOT_CHECK(std::ssize(hidden) == rows_ * model_->spec().hidden);
  ops_ = cpu_.get();
  hidden_ = ops_->buffer(Buffer::kHidden, std::ssize(hidden));
  ops_->write(hidden_, hidden);
  bool goes_on = true;
  for (size_t i = 0; i < model_->layers().size() && goes_on; ++i) {
    INGOT_TRY(go_to(model_->spec().layers[i].is_on_device));
    INGOT_TRY(goes_on, run_layer(i, cache));
  }
  if (goes_on) INGOT_TRY(ops_->read(hidden_, hidden));
  return model_->checkpoint().check_intact();
}

Result<std::span<const float>> Decoder::embed_tokens(const Batch& batch, const KvCache& cache) {
  begin(batch, cache);
  embed();
  return ops_->view(hidden_, static_cast<size_t>(rows_ * model_->spec().hidden));
}

Result<std::span<const float>> Decoder::logits_of(std::span<const float> hidden) {
  const ThreadPool::Step step = exec_.begin_step(true);
  rows_ = std::ssize(hidden) / model_->spec().hidden;
  first_rows_.resize(static_cast<size_t>(rows_));
  std::iota(first_rows_.begin(), first_rows_.end(), 0);
  ops_ = model_->is_head_on_device() ? device_.get() : cpu_.get();
  OpsStep given;
  given.output_rows = first_rows_;
  given.has_prompts = true;
  ops_->begin(given);
  hidden_ = ops_->buffer(Buffer::kHidden, std::ssize(hidden));
  ops_->write(hidden_, hidden);
  compute_logits(rows_);
  return view_logits(rows_);
}

Result<bool> Decoder::is_wanted(size_t layer, LinearInput input, const float* x,
                                int64_t cols) const {
  if (!on_input) return true;
  INGOT_TRY(const std::span<const float> seen, ops_->view(x, static_cast<size_t>(rows_ * cols)));
  return on_input(layer, input, seen);
}

void Decoder::embed() {
  const ModelSpec& spec = model_->spec();
  ops_ = model_->is_all_on_device() ? device_.get() : cpu_.get();
  const auto dim = static_cast<int64_t>(model_->embedding().cols());
  hidden_ = buffer(Buffer::kHidden, spec.hidden);
  float* target = spec.embedding_dim > 0 ? buffer(Buffer::kNormed, dim) : hidden_;
  ops_->embed({&model_->embedding(), &model_->placed_embedding()}, spec.embedding_scale, target,
              dim);
  if (spec.embedding_dim > 0) {
    ops_->set_input(InputSlot::kBranch, target, rows_, dim);
    const LinearOutput output{&model_->embedding_in().linear, hidden_, spec.hidden};
    ops_->run_linears(InputSlot::kBranch, {&output, 1});
  }
  if (spec.learned_positions > 0)
    ops_->add_positions(model_->position_table(), hidden_, spec.hidden);
  if (spec.has_embedding_norm) {
    ops_->normalize(norm_op(spec.norm, model_->embedding_norm()), hidden_, hidden_, rows_,
                    spec.hidden);
  }
}

// One block: see BlockForm for the three ways in which norms, branches and residual sums are
// arranged.
Result<bool> Decoder::run_layer(size_t index, const KvCache& cache) {
  const ModelSpec& spec = model_->spec();
  const LayerSpec& layer = spec.layers[index];
  const LayerWeights& weights = model_->layers()[index];
  const auto& attention = std::get<AttentionSpec>(layer.mixer);
  const auto& ffn = std::get<DenseFfnSpec>(layer.ffn);
  float* const x = hidden_;
  float* const normed = buffer(Buffer::kNormed, spec.hidden);
  float* const branch = buffer(Buffer::kBranch, spec.hidden);
  const bool norms_first = layer.form != BlockForm::kPostResidual;
  const auto normalize = [&](const NormWeights& norm, float* from, float* to) {
    ops_->normalize(norm_op(spec.norm, norm), from, to, rows_, spec.hidden);
  };
  const auto add = [&](const float* addend) {
    ops_->add_scaled(x, addend, spec.residual_scale, rows_ * spec.hidden);
  };
  // The input of a branch: normed where the layer has that norm, else the residual stream itself.
  const auto read_input = [&](bool is_normed) {
    ops_->set_input(InputSlot::kBranch, is_normed ? normed : x, rows_, spec.hidden);
  };

  const bool norms_mixer = norms_first && layer.has_mixer_norm;
  if (norms_mixer) normalize(weights.mixer_norm, x, normed);
  read_input(norms_mixer);
  INGOT_TRY(bool goes_on, attend(index, attention, cache, branch));
  if (!goes_on) return false;
  if (layer.has_mixer_post_norm) normalize(weights.mixer_post_norm, branch, branch);

  if (layer.form == BlockForm::kParallel) {
    float* const second = buffer(Buffer::kSecondBranch, spec.hidden);
    if (layer.has_ffn_norm) {
      normalize(weights.ffn_norm, x, normed);
      read_input(true);
    }
    INGOT_TRY(goes_on, feed_forward(index, ffn, second));
    if (!goes_on) return false;
    if (layer.has_ffn_post_norm) normalize(weights.ffn_post_norm, second, second);
    add(branch);
    add(second);
    return true;
  }
  const bool norms_ffn = norms_first && layer.has_ffn_norm;
  if (norms_ffn) {
    ops_->add_and_normalize(x, branch, spec.residual_scale, norm_op(spec.norm, weights.ffn_norm),
                            normed, rows_, spec.hidden);
  } else {
    add(branch);
  }
  if (!norms_first) normalize(weights.mixer_norm, x, x);
  read_input(norms_ffn);
  INGOT_TRY(goes_on, feed_forward(index, ffn, branch));
  if (!goes_on) return false;
  if (layer.has_ffn_post_norm) normalize(weights.ffn_post_norm, branch, branch);
  add(branch);
  if (!norms_first) normalize(weights.ffn_norm, x, x);
  return true;
}

Result<bool> Decoder::attend(size_t index, const AttentionSpec& spec, const KvCache& cache,
                             float* out) {
  const LayerWeights& weights = model_->layers()[index];
  const LayerSpec& layer = model_->spec().layers[index];
  const bool is_normed = layer.form != BlockForm::kPostResidual && layer.has_mixer_norm;
  const int64_t hidden = model_->spec().hidden;
  INGOT_TRY(bool goes_on, is_wanted(index, LinearInput::kMixerIn,
                                    is_normed ? buffer(Buffer::kNormed, hidden) : hidden_, hidden));
  if (!goes_on) return false;
  project_qkv(spec, weights);
  if (!spec.norm_after_rope) normalize_qk(spec, weights);
  rotate(spec);
  if (spec.norm_after_rope) normalize_qk(spec, weights);

  const int64_t width = spec.heads * spec.value_dim;
  float* const attended = buffer(Buffer::kAttended, width);
  ops_->attend({.kv = cache.layer(index),
                .group = cache.group_of(index),
                .q = q_,
                .k = k_,
                .v = v_,
                .out = attended,
                .heads = spec.heads,
                .scale = spec.scale,
                .softcap = spec.softcap,
                .window = spec.window,
                .alibi_slopes = weights.alibi_slopes,
                .sinks = weights.sinks});
  INGOT_TRY(goes_on, is_wanted(index, LinearInput::kMixerInner, attended, width));
  if (!goes_on) return false;
  ops_->set_input(InputSlot::kInner, attended, rows_, width);
  const LinearOutput output{&weights.o.linear, out, hidden};
  ops_->run_linears(InputSlot::kInner, {&output, 1});
  return true;
}

void Decoder::project_qkv(const AttentionSpec& spec, const LayerWeights& weights) {
  const auto output = [&](const Linear& linear, Buffer which) {
    return LinearOutput{&linear, buffer(which, linear.rows()), linear.rows()};
  };
  const std::array outputs{output(weights.q.linear, Buffer::kQ),
                           output(weights.k.linear, Buffer::kK),
                           output(weights.v.linear, Buffer::kV)};
  q_ = outputs[0].y;
  k_ = outputs[1].y;
  v_ = outputs[2].y;
  ops_->run_linears(InputSlot::kBranch, outputs);
  if (spec.clip_qkv == 0) return;
  for (const LinearOutput& out : outputs)
    ops_->clamp(out.y, spec.clip_qkv, rows_ * out.y_stride);
}

void Decoder::normalize_qk(const AttentionSpec& spec, const LayerWeights& weights) {
  if (spec.qk_norm == QkNorm::kNone) return;
  const auto apply = [&](const NormWeights& norm, float* x, int64_t heads) {
    const bool is_whole = spec.qk_norm == QkNorm::kWhole;
    const int64_t dim = is_whole ? heads * spec.key_dim : spec.key_dim;
    ops_->normalize(norm_op(spec.qk_norm_spec, norm), x, x, is_whole ? rows_ : rows_ * heads, dim);
  };
  apply(weights.q_norm, q_, spec.heads);
  apply(weights.k_norm, k_, spec.kv_heads);
}

void Decoder::rotate(const AttentionSpec& spec) {
  if (spec.rope < 0) return;
  const auto rope = static_cast<size_t>(spec.rope);
  ops_->rotate({rope, q_, spec.heads, spec.key_dim});
  ops_->rotate({rope, k_, spec.kv_heads, spec.key_dim});
}

Result<bool> Decoder::feed_forward(size_t index, const DenseFfnSpec& spec, float* out) {
  const LayerWeights& weights = model_->layers()[index];
  const LayerSpec& layer = model_->spec().layers[index];
  const int64_t hidden = model_->spec().hidden;
  // A parallel block without a norm of its own reads what the mixer read.
  const bool is_parallel = layer.form == BlockForm::kParallel;
  const bool is_normed = layer.form != BlockForm::kPostResidual &&
                         (layer.has_ffn_norm || (is_parallel && layer.has_mixer_norm));
  INGOT_TRY(bool goes_on, is_wanted(index, LinearInput::kFfnIn,
                                    is_normed ? buffer(Buffer::kNormed, hidden) : hidden_, hidden));
  if (!goes_on) return false;
  float* const up = buffer(Buffer::kUp, spec.hidden);
  if (spec.is_gated) {
    float* const gate = buffer(Buffer::kGate, spec.hidden);
    ops_->run_gated(InputSlot::kBranch, {.gate = &weights.gate.linear,
                                         .up = &weights.up.linear,
                                         .next = &weights.down.linear,
                                         .activation = spec.activation,
                                         .between = gate,
                                         .y = up,
                                         .rows = rows_});
  } else {
    const LinearOutput output{&weights.up.linear, up, spec.hidden};
    ops_->run_linears(InputSlot::kBranch, {&output, 1});
    ops_->activate(spec.activation, up, nullptr, up, rows_ * spec.hidden);
  }
  INGOT_TRY(goes_on, is_wanted(index, LinearInput::kFfnInner, up, spec.hidden));
  if (!goes_on) return false;
  ops_->set_input(InputSlot::kInner, up, rows_, spec.hidden);
  const LinearOutput output{&weights.down.linear, out, hidden};
  ops_->run_linears(InputSlot::kInner, {&output, 1});
  return true;
}

float* Decoder::select(RowList list, int64_t rows, Buffer into) {
  const ModelSpec& spec = model_->spec();
  float* const out = ops_->buffer(into, rows * spec.hidden);
  ops_->copy_rows(list, hidden_, spec.hidden, out);
  if (spec.has_final_norm)
    ops_->normalize(norm_op(spec.norm, model_->final_norm()), out, out, rows, spec.hidden);
  return out;
}

void Decoder::compute_logits(int64_t rows) {
  const ModelSpec& spec = model_->spec();
  if (rows == 0) return;
  const float* selected = select(RowList::kOutput, rows, Buffer::kSelected);
  ops_->set_input(InputSlot::kBranch, selected, rows, spec.hidden);
  if (spec.embedding_dim > 0) {
    float* const projected = ops_->buffer(Buffer::kProjected, rows * spec.embedding_dim);
    const LinearOutput output{&model_->embedding_out().linear, projected, spec.embedding_dim};
    ops_->run_linears(InputSlot::kBranch, {&output, 1});
    ops_->set_input(InputSlot::kBranch, projected, rows, spec.embedding_dim);
  }
  float* const logits = ops_->buffer(Buffer::kLogits, rows * spec.vocab);
  const LinearOutput output{&model_->output().linear, logits, spec.vocab};
  ops_->run_linears(InputSlot::kBranch, {&output, 1});
  if (spec.logit_scale != 1 || spec.logit_softcap != 0)
    ops_->finish_logits(logits, spec.logit_scale, spec.logit_softcap, rows * spec.vocab);
}

Result<std::span<const float>> Decoder::view_logits(int64_t rows) {
  if (rows == 0) return std::span<const float>();
  const int64_t count = rows * model_->spec().vocab;
  return ops_->view(ops_->buffer(Buffer::kLogits, count), static_cast<size_t>(count));
}

Result<StepOutput> Decoder::take_output(const Started& started) {
  const int64_t vocab = model_->spec().vocab;
  std::span<const RowSample> samples;
  if (started.is_sampled) {
    INGOT_TRY(samples, ops_->samples());
  }
  if (samples.empty()) {
    INGOT_TRY(const std::span<const float> logits, view_logits(started.outputs));
    return StepOutput(logits, static_cast<size_t>(vocab));
  }
  if (started.is_overtaken) return StepOutput(samples, {}, static_cast<size_t>(vocab));
  const float* const logits = ops_->buffer(Buffer::kLogits, started.outputs * vocab);
  host_rows_.assign(samples.size(), nullptr);
  for (size_t row = 0; row < samples.size();) {
    size_t end = row;
    while (end < samples.size() && samples[end].id < 0)
      ++end;
    if (end > row) {  // neighbours go together
      INGOT_TRY(const std::span<const float> seen,
                ops_->view(logits + static_cast<int64_t>(row) * vocab,
                           (end - row) * static_cast<size_t>(vocab)));
      for (size_t i = row; i < end; ++i)
        host_rows_[i] = seen.data() + (i - row) * static_cast<size_t>(vocab);
    }
    row = end + 1;
  }
  return StepOutput(samples, host_rows_, static_cast<size_t>(vocab));
}

}  // namespace ingot
