// SPDX-License-Identifier: Apache-2.0
#include "model/decoder.h"

#include <algorithm>
#include <array>

namespace ingot {
namespace {

constexpr int64_t kElementGrain = 8192;  // floats a thread takes at least in elementwise ops

void grow(std::vector<float>& buffer, int64_t size) {
  if (buffer.size() < static_cast<size_t>(size)) buffer.resize(static_cast<size_t>(size));
}

bool has_prompts(const Batch& batch) {
  return std::ranges::any_of(batch.sequences, [](const BatchSequence& s) { return s.tokens > 1; });
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const Model> model, Exec exec, KvCacheType cache_type)
    : model_(std::move(model)),
      exec_(exec),
      attention_(&choose_attention(cache_type, model_->targets())),
      norm_(&choose_norm(model_->targets())),
      rope_(&choose_rope(model_->targets())),
      elementwise_(&choose_elementwise(model_->targets())),
      activations_(model_->targets()),
      inner_activations_(model_->targets()) {
  for (const RopeSpec& rope : model_->spec().ropes)
    ropes_.emplace_back(rope, model_->spec().context);
}

Result<Decoder> Decoder::create(std::shared_ptr<const Model> model, Exec exec,
                                KvCacheType cache_type) {
  return Decoder(std::move(model), exec, cache_type);
}

void Decoder::set_sequences(const Batch& batch, const KvCache& cache) {
  INGOT_CHECK(cache.type() == attention_->type);
  rows_ = static_cast<int64_t>(batch.tokens.size());
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
}

Result<std::span<const float>> Decoder::forward(const Batch& batch, const KvCache& cache) {
  const ThreadPool::Step step = exec_.begin_step(has_prompts(batch));
  set_sequences(batch, cache);
  for (RopeTable& rope : ropes_)
    rope.fill(batch);

  embed(batch);
  for (size_t i = 0; i < model_->layers().size() && run_layer(i, cache); ++i) {
    if (on_layer)
      on_layer(i, std::span(hidden_).first(static_cast<size_t>(rows_ * model_->spec().hidden)));
  }
  const std::span<const float> logits = compute_logits(batch);
  select(batch.hidden_rows, wanted_);
  hidden_states_ = std::span(wanted_).first(batch.hidden_rows.size() *
                                            static_cast<size_t>(model_->spec().hidden));
  INGOT_TRY(model_->checkpoint().check_intact());
  return logits;
}

Status Decoder::run_layers(const Batch& batch, const KvCache& cache, std::span<float> hidden) {
  const ThreadPool::Step step = exec_.begin_step(has_prompts(batch));
  set_sequences(batch, cache);
  INGOT_CHECK(std::ssize(hidden) == rows_ * model_->spec().hidden);
  for (RopeTable& rope : ropes_)
    rope.fill(batch);
  grow(hidden_, std::ssize(hidden));
  grow(normed_, std::ssize(hidden));
  grow(branch_, std::ssize(hidden));
  std::ranges::copy(hidden, hidden_.begin());
  bool goes_on = true;
  for (size_t i = 0; i < model_->layers().size() && goes_on; ++i)
    goes_on = run_layer(i, cache);
  if (goes_on) std::copy_n(hidden_.begin(), hidden.size(), hidden.begin());
  return model_->checkpoint().check_intact();
}

std::span<const float> Decoder::embed_tokens(const Batch& batch, const KvCache& cache) {
  set_sequences(batch, cache);
  embed(batch);
  return std::span(hidden_).first(static_cast<size_t>(rows_ * model_->spec().hidden));
}

std::span<const float> Decoder::logits_of(std::span<const float> hidden) {
  const ThreadPool::Step step = exec_.begin_step(true);
  Batch batch;
  const int64_t rows = std::ssize(hidden) / model_->spec().hidden;
  for (int64_t row = 0; row < rows; ++row)
    batch.output_rows.push_back(row);
  grow(hidden_, std::ssize(hidden));
  std::ranges::copy(hidden, hidden_.begin());
  return compute_logits(batch);
}

bool Decoder::is_wanted(size_t layer, LinearInput input, const Activations& x) const {
  return !on_input || on_input(layer, input, {x.x(), static_cast<size_t>(x.tokens() * x.cols())});
}

void Decoder::embed(const Batch& batch) {
  const ModelSpec& spec = model_->spec();
  const TensorView& table = model_->embedding();
  const auto dim = static_cast<int64_t>(table.cols());
  const uint64_t row_bytes = table.row_bytes();
  grow(hidden_, rows_ * spec.hidden);
  grow(normed_, rows_ * std::max(spec.hidden, dim));
  grow(branch_, rows_ * spec.hidden);
  float* target = spec.embedding_dim > 0 ? normed_.data() : hidden_.data();
  exec_.for_ranges(rows_, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const TokenId token = batch.tokens[static_cast<size_t>(i)];
      INGOT_CHECK(token >= 0 && token < spec.vocab);
      const std::span<float> out(target + i * dim, static_cast<size_t>(dim));
      dequantize(table.layout,
                 table.bytes.subspan(static_cast<uint64_t>(token) * row_bytes, row_bytes), out);
      if (spec.embedding_scale != 1) {
        for (float& value : out)
          value *= spec.embedding_scale;
      }
    }
  });
  if (spec.embedding_dim > 0) {
    activations_.set(normed_.data(), rows_, dim);
    model_->embedding_in().linear.run(exec_, activations_, hidden_.data(), spec.hidden);
  }
  if (spec.learned_positions > 0) {
    float* row = hidden_.data();
    for (const BatchSequence& sequence : batch.sequences) {
      for (int64_t i = 0; i < sequence.tokens; ++i, row += spec.hidden) {
        const int64_t position = sequence.first_position + i + spec.position_offset;
        INGOT_CHECK(position < spec.learned_positions);
        elementwise_->add_scaled(row, model_->position_table().data() + position * spec.hidden, 1,
                                 spec.hidden);
      }
    }
  }
  if (spec.has_embedding_norm) {
    normalize(spec.norm, model_->embedding_norm(), hidden_.data(), hidden_.data(), rows_,
              spec.hidden);
  }
}

// One block: see BlockForm for the three ways in which norms, branches and residual sums are
// arranged.
bool Decoder::run_layer(size_t index, const KvCache& cache) {
  const ModelSpec& spec = model_->spec();
  const LayerSpec& layer = spec.layers[index];
  const LayerWeights& weights = model_->layers()[index];
  const auto& attention = std::get<AttentionSpec>(layer.mixer);
  const auto& ffn = std::get<DenseFfnSpec>(layer.ffn);
  float* x = hidden_.data();
  const bool norms_first = layer.form != BlockForm::kPostResidual;
  // The input of a branch: normed where the layer has that norm, else the residual stream itself.
  const auto prepare = [&](bool has_norm, const NormWeights& norm) {
    if (has_norm) normalize(spec.norm, norm, x, normed_.data(), rows_, spec.hidden);
    activations_.set(has_norm ? normed_.data() : x, rows_, spec.hidden);
  };
  const auto finish = [&](bool has_norm, const NormWeights& norm, float* branch) {
    if (has_norm) normalize(spec.norm, norm, branch, branch, rows_, spec.hidden);
  };

  prepare(norms_first && layer.has_mixer_norm, weights.mixer_norm);
  if (!attend(index, attention, cache, branch_.data())) return false;
  finish(layer.has_mixer_post_norm, weights.mixer_post_norm, branch_.data());

  if (layer.form == BlockForm::kParallel) {
    grow(second_branch_, rows_ * spec.hidden);
    if (layer.has_ffn_norm) prepare(true, weights.ffn_norm);
    if (!feed_forward(index, ffn, second_branch_.data())) return false;
    finish(layer.has_ffn_post_norm, weights.ffn_post_norm, second_branch_.data());
    add_branch(branch_.data());
    add_branch(second_branch_.data());
    return true;
  }
  add_branch(branch_.data());
  if (!norms_first) normalize(spec.norm, weights.mixer_norm, x, x, rows_, spec.hidden);
  prepare(norms_first && layer.has_ffn_norm, weights.ffn_norm);
  if (!feed_forward(index, ffn, branch_.data())) return false;
  finish(layer.has_ffn_post_norm, weights.ffn_post_norm, branch_.data());
  add_branch(branch_.data());
  if (!norms_first) normalize(spec.norm, weights.ffn_norm, x, x, rows_, spec.hidden);
  return true;
}

bool Decoder::attend(size_t index, const AttentionSpec& spec, const KvCache& cache, float* out) {
  const LayerWeights& weights = model_->layers()[index];
  const int64_t q_width = spec.heads * spec.key_dim;
  const int64_t out_width = spec.heads * spec.value_dim;
  grow(attended_, rows_ * out_width);
  if (!is_wanted(index, LinearInput::kMixerIn, activations_)) return false;
  project_qkv(spec, weights);
  if (!spec.norm_after_rope) normalize_qk(spec, weights);
  rotate(spec);
  if (spec.norm_after_rope) normalize_qk(spec, weights);

  const PagedKv& kv = cache.layer(index);
  const std::vector<SequenceRows>& sequences = sequences_[cache.group_of(index)];
  attention_->store({.kv = kv,
                     .k = k_.data(),
                     .k_stride = spec.kv_heads * spec.key_dim,
                     .v = v_.data(),
                     .v_stride = spec.kv_heads * spec.value_dim,
                     .sequences = sequences},
                    exec_);
  attention_->run(
      {.kv = kv,
       .q = q_.data(),
       .q_stride = q_width,
       .out = attended_.data(),
       .out_stride = out_width,
       .heads = spec.heads,
       .scale = spec.scale,
       .softcap = spec.softcap,
       .window = spec.window,
       .alibi_slopes = weights.alibi_slopes.empty() ? nullptr : weights.alibi_slopes.data(),
       .sinks = weights.sinks.empty() ? nullptr : weights.sinks.data(),
       .sequences = sequences},
      exec_);
  inner_activations_.set(attended_.data(), rows_, out_width);
  if (!is_wanted(index, LinearInput::kMixerInner, inner_activations_)) return false;
  weights.o.linear.run(exec_, inner_activations_, out, model_->spec().hidden);
  return true;
}

void Decoder::project_qkv(const AttentionSpec& spec, const LayerWeights& weights) {
  const auto output = [&](const Linear& linear, std::vector<float>& out) {
    grow(out, rows_ * linear.rows());
    return LinearOutput{&linear, out.data(), linear.rows()};
  };
  const std::array outputs{output(weights.q.linear, q_), output(weights.k.linear, k_),
                           output(weights.v.linear, v_)};
  run_linears(exec_, activations_, outputs);
  if (spec.clip_qkv == 0) return;
  for (const LinearOutput& out : outputs) {
    for (int64_t i = 0; i < rows_ * out.y_stride; ++i)
      out.y[i] = std::clamp(out.y[i], -spec.clip_qkv, spec.clip_qkv);
  }
}

void Decoder::normalize_qk(const AttentionSpec& spec, const LayerWeights& weights) {
  if (spec.qk_norm == QkNorm::kNone) return;
  const auto apply = [&](const NormWeights& norm, float* x, int64_t heads) {
    const bool is_whole = spec.qk_norm == QkNorm::kWhole;
    const int64_t dim = is_whole ? heads * spec.key_dim : spec.key_dim;
    normalize(spec.qk_norm_spec, norm, x, x, is_whole ? rows_ : rows_ * heads, dim);
  };
  apply(weights.q_norm, q_.data(), spec.heads);
  apply(weights.k_norm, k_.data(), spec.kv_heads);
}

void Decoder::rotate(const AttentionSpec& spec) {
  if (spec.rope < 0) return;
  const RopeTable& table = ropes_[static_cast<size_t>(spec.rope)];
  const auto apply = [&](float* x, int64_t heads) {
    const RopeArgs args{.pairing = table.spec().pairing,
                        .x = x,
                        .token_stride = heads * spec.key_dim,
                        .heads = heads,
                        .head_dim = spec.key_dim,
                        .pairs = table.pairs(),
                        .cos = table.cos(),
                        .sin = table.sin()};
    exec_.for_ranges(rows_, 8, [&](int64_t begin, int64_t end) { rope_->run(args, begin, end); });
  };
  apply(q_.data(), spec.heads);
  apply(k_.data(), spec.kv_heads);
}

bool Decoder::feed_forward(size_t index, const DenseFfnSpec& spec, float* out) {
  const LayerWeights& weights = model_->layers()[index];
  if (!is_wanted(index, LinearInput::kFfnIn, activations_)) return false;
  const int64_t count = rows_ * spec.hidden;
  grow(up_, count);
  const float* gate = up_.data();
  const float* up = nullptr;
  if (spec.is_gated) {
    grow(gate_, count);
    run_linears(exec_, activations_,
                std::array{LinearOutput{&weights.gate.linear, gate_.data(), spec.hidden},
                           LinearOutput{&weights.up.linear, up_.data(), spec.hidden}});
    gate = gate_.data();
    up = up_.data();
  } else {
    weights.up.linear.run(exec_, activations_, up_.data(), spec.hidden);
  }
  exec_.for_ranges(count, kElementGrain, [&](int64_t begin, int64_t end) {
    elementwise_->activate(spec.activation, gate + begin, up == nullptr ? nullptr : up + begin,
                           up_.data() + begin, end - begin);
  });
  inner_activations_.set(up_.data(), rows_, spec.hidden);
  if (!is_wanted(index, LinearInput::kFfnInner, inner_activations_)) return false;
  weights.down.linear.run(exec_, inner_activations_, out, model_->spec().hidden);
  return true;
}

void Decoder::normalize(const NormSpec& spec, const NormWeights& weights, const float* x, float* y,
                        int64_t rows, int64_t dim) const {
  const NormArgs args{
      .kind = spec.kind,
      .x = x,
      .x_stride = dim,
      .y = y,
      .y_stride = dim,
      .dim = dim,
      .eps = spec.eps,
      .weight = weights.weight.empty() ? nullptr : weights.weight.data(),
      .weight_rows = weights.weight.empty() ? 1 : static_cast<int64_t>(weights.weight.size()) / dim,
      .bias = weights.bias.empty() ? nullptr : weights.bias.data()};
  const int64_t grain = std::max<int64_t>(1, kElementGrain / dim);
  exec_.for_ranges(rows, grain, [&](int64_t begin, int64_t end) { norm_->run(args, begin, end); });
}

void Decoder::add_branch(const float* branch) {
  const ModelSpec& spec = model_->spec();
  exec_.for_ranges(rows_ * spec.hidden, kElementGrain, [&](int64_t begin, int64_t end) {
    elementwise_->add_scaled(hidden_.data() + begin, branch + begin, spec.residual_scale,
                             end - begin);
  });
}

void Decoder::select(std::span<const int64_t> rows, std::vector<float>& out) {
  const ModelSpec& spec = model_->spec();
  const auto count = static_cast<int64_t>(rows.size());
  if (count == 0) return;
  grow(out, count * spec.hidden);
  for (int64_t i = 0; i < count; ++i) {
    const float* row = hidden_.data() + rows[static_cast<size_t>(i)] * spec.hidden;
    std::copy_n(row, spec.hidden, out.data() + i * spec.hidden);
  }
  if (spec.has_final_norm)
    normalize(spec.norm, model_->final_norm(), out.data(), out.data(), count, spec.hidden);
}

std::span<const float> Decoder::compute_logits(const Batch& batch) {
  const ModelSpec& spec = model_->spec();
  const auto rows = static_cast<int64_t>(batch.output_rows.size());
  if (rows == 0) return {};
  select(batch.output_rows, selected_);
  grow(logits_, rows * spec.vocab);
  activations_.set(selected_.data(), rows, spec.hidden);
  if (spec.embedding_dim > 0) {
    grow(projected_, rows * spec.embedding_dim);
    model_->embedding_out().linear.run(exec_, activations_, projected_.data(), spec.embedding_dim);
    activations_.set(projected_.data(), rows, spec.embedding_dim);
  }
  model_->output().linear.run(exec_, activations_, logits_.data(), spec.vocab);
  const std::span<float> logits(logits_.data(), static_cast<size_t>(rows * spec.vocab));
  if (spec.logit_scale != 1) {
    for (float& logit : logits)
      logit *= spec.logit_scale;
  }
  if (spec.logit_softcap != 0)
    elementwise_->softcap(logits.data(), spec.logit_softcap, rows * spec.vocab);
  return logits;
}

}  // namespace ingot
