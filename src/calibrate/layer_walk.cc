// SPDX-License-Identifier: Apache-2.0
#include "calibrate/layer_walk.h"

#include <algorithm>

namespace ingot {
namespace {

constexpr int64_t kPageTokens = 16;

int64_t pages_of(int64_t tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

ModelOptions model_options(const WalkOptions& options) {
  ModelOptions result;
  result.targets = options.targets;
  result.threads = options.threads;
  result.dtype = ModelDtype::kFloat;
  return result;
}

}  // namespace

Result<LayerWalk> LayerWalk::create(std::shared_ptr<const Checkpoint> checkpoint,
                                    const ModelPlan& plan,
                                    std::vector<std::vector<TokenId>> samples,
                                    const WalkOptions& options) {
  LayerWalk walk;
  walk.checkpoint_ = std::move(checkpoint);
  walk.plan_ = std::make_shared<const ModelPlan>(plan);
  walk.options_ = options;
  walk.pool_ = std::make_unique<ThreadPool>(options.threads);
  walk.samples_ = std::move(samples);
  for (const std::vector<TokenId>& sample : walk.samples_) {
    if (sample.empty()) return Status::invalid_argument("a calibration sample is empty");
    for (const TokenId id : sample) {
      if (id < 0 || id >= plan.spec.vocab) {
        return Status::invalid_argument("token id {} is outside the vocabulary [0, {})", id,
                                        plan.spec.vocab);
      }
    }
  }
  walk.plan_passes();
  INGOT_TRY(walk.hidden_, walk.embed({}));
  return walk;
}

// Every sample of a pass has pages of its own, all groups the same ones: a table per sample serves
// any layer.
void LayerWalk::plan_passes() {
  size_t longest_pass = 0;
  for (size_t i = 0; i < samples_.size();) {
    Pass pass;
    pass.first_row = tokens_;
    int64_t pages = 0;
    for (; i < samples_.size(); ++i) {
      const auto size = static_cast<int64_t>(samples_[i].size());
      if (pass.rows > 0 && pass.rows + size > options_.batch_tokens) break;
      pass.batch.tokens.insert(pass.batch.tokens.end(), samples_[i].begin(), samples_[i].end());
      pass.batch.sequences.push_back({size, 0, {}, size});
      pass.rows += size;
      pages += pages_of(size);
    }
    tokens_ += pass.rows;
    longest_pass = std::max(longest_pass, pass.batch.sequences.size());
    page_count_ = std::max(page_count_, pages);
    passes_.push_back(std::move(pass));
  }
  tables_.resize(longest_pass);
}

Result<std::vector<float>> LayerWalk::embed(const TensorOverlay& overlay) {
  INGOT_TRY(const auto ends,
            Model::load_ends(checkpoint_, *plan_, overlay, model_options(options_), false));
  INGOT_TRY(Decoder decoder, Decoder::create(ends, exec(), KvCacheType::kF32));
  INGOT_TRY(const KvCache cache,
            KvCache::create(ends->spec(), {KvCacheType::kF32, kPageTokens, {}}));
  std::vector<float> states;
  states.reserve(static_cast<size_t>(tokens_ * plan_->spec.hidden));
  for (const Pass& pass : passes_) {
    INGOT_TRY(const std::span<const float> rows, decoder.embed_tokens(pass.batch, cache));
    states.insert(states.end(), rows.begin(), rows.end());
  }
  return states;
}

int64_t LayerWalk::columns(LinearInput input) const {
  const LayerSpec& layer = plan_->spec.layers[layer_];
  if (input == LinearInput::kMixerInner) {
    const auto& attention = std::get<AttentionSpec>(layer.mixer);
    return attention.heads * attention.value_dim;
  }
  if (input == LinearInput::kFfnInner) return std::get<DenseFfnSpec>(layer.ffn).hidden;
  return plan_->spec.hidden;
}

struct LayerWalk::Layer {
  std::shared_ptr<const Model> model;
  KvCache cache;
  Decoder decoder;
};

Result<std::unique_ptr<LayerWalk::Layer>> LayerWalk::load(const TensorOverlay& overlay) {
  INGOT_CHECK(layer_ < layers());
  INGOT_TRY(auto model,
            Model::load_layer(checkpoint_, *plan_, layer_, overlay, model_options(options_)));
  const KvCacheOptions cache_options{KvCacheType::kF32, kPageTokens, {page_count_}};
  INGOT_TRY(KvCache cache, KvCache::create(model->spec(), cache_options));
  INGOT_TRY(Decoder decoder, Decoder::create(model, exec(), KvCacheType::kF32));
  return std::unique_ptr<Layer>(new Layer{std::move(model), std::move(cache), std::move(decoder)});
}

Status LayerWalk::run_states(Layer& layer, std::span<float> states) {
  for (Pass& pass : passes_) {
    PageId page = 0;
    for (size_t i = 0; i < pass.batch.sequences.size(); ++i) {
      tables_[i].clear();
      for (int64_t n = pages_of(pass.batch.sequences[i].tokens); n > 0; --n)
        tables_[i].push_back(page++);
      pass.batch.sequences[i].tables = std::span(&tables_[i], 1);
    }
    const auto width = static_cast<size_t>(plan_->spec.hidden);
    const std::span<float> rows = states.subspan(static_cast<size_t>(pass.first_row) * width,
                                                 static_cast<size_t>(pass.rows) * width);
    INGOT_TRY(layer.decoder.run_layers(pass.batch, layer.cache, rows));
  }
  return Status::ok();
}

Status LayerWalk::run(const TensorOverlay& overlay, const Visit& visit,
                      std::optional<LinearInput> last) {
  INGOT_TRY(const std::unique_ptr<Layer> layer, load(overlay));
  if (visit) {
    layer->decoder.on_input = [&](size_t, LinearInput input, std::span<const float> x) {
      visit(input, x);
      return input != last;
    };
  }
  return run_states(*layer, hidden_);
}

Status LayerWalk::run_others(const TensorOverlay& overlay, std::span<std::vector<float>> states) {
  if (states.empty()) return Status::ok();
  INGOT_TRY(const std::unique_ptr<Layer> layer, load(overlay));
  for (std::vector<float>& state : states) {
    INGOT_CHECK(state.size() == hidden_.size());
    INGOT_TRY(run_states(*layer, state));
  }
  return Status::ok();
}

Status LayerWalk::visit(const TensorOverlay& overlay, LinearInput last, const Visit& visit) {
  return run(overlay, visit, last);
}

Status LayerWalk::advance(const TensorOverlay& overlay, const Visit& visit) {
  INGOT_TRY(run(overlay, visit, std::nullopt));
  ++layer_;
  return Status::ok();
}

Status LayerWalk::visit_logits(const TensorOverlay& overlay, std::span<const float> states,
                               const VisitLogits& visit) {
  constexpr int64_t kRows = 64;
  INGOT_TRY(const auto ends,
            Model::load_ends(checkpoint_, *plan_, overlay, model_options(options_), true));
  INGOT_TRY(Decoder decoder, Decoder::create(ends, exec(), KvCacheType::kF32));
  const auto width = static_cast<size_t>(plan_->spec.hidden);
  const auto vocab = static_cast<size_t>(plan_->spec.vocab);
  for (int64_t row = 0; row < tokens_; row += kRows) {
    const auto count = static_cast<size_t>(std::min(kRows, tokens_ - row));
    INGOT_TRY(const std::span<const float> logits,
              decoder.logits_of(states.subspan(static_cast<size_t>(row) * width, count * width)));
    for (size_t i = 0; i < count; ++i)
      visit(row + static_cast<int64_t>(i), logits.subspan(i * vocab, vocab));
  }
  return Status::ok();
}

}  // namespace ingot
