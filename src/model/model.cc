// SPDX-License-Identifier: Apache-2.0
#include "model/model.h"

#include <cmath>

#include "base/free_memory.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "model/bind.h"
#include "model/device_plan.h"
#include "model/panel_budget.h"

namespace ingot {
namespace {

// Buffers that old checkpoints carry and no decoder needs.
bool is_harmless(std::string_view name) {
  return name.ends_with("inv_freq") || name.ends_with(".attn.bias") ||
         name.ends_with(".masked_bias") || name.ends_with(".attention.bias") ||
         name.starts_with("rope_factors_") || name == "rope_freqs.weight";
}

void warn_unused(const std::vector<std::string>& names, const std::string& file) {
  std::string shown;
  size_t count = 0;
  for (const std::string& name : names) {
    if (is_harmless(name)) continue;
    if (count++ < 3) shown += (shown.empty() ? "" : ", ") + name;
  }
  if (count > 0)
    log_warning("{}: {} tensors are not used by this architecture ({}{})", file, count, shown,
                count > 3 ? ", ..." : "");
}

// Slopes of ALiBi: a geometric series over the heads, with the odd ones of the next power of two
// after.
std::vector<float> alibi_slopes(const AttentionSpec& spec) {
  int64_t power = 1;
  while (power * 2 <= spec.heads)
    power *= 2;
  std::vector<float> slopes;
  for (int64_t i = 0; i < spec.heads; ++i) {
    const double step =
        i < power ? static_cast<double>(i + 1) : static_cast<double>(i - power) + 0.5;
    const double exponent =
        -static_cast<double>(spec.alibi_max) * step / static_cast<double>(power);
    slopes.push_back(static_cast<float>(std::exp2(exponent)) * spec.alibi_scale);
  }
  return slopes;
}

uint64_t weight_bytes_of(const Checkpoint& checkpoint) {
  uint64_t bytes = 0;
  for (const TensorEntry* entry : checkpoint.tensors())
    bytes += entry->tensor.bytes.size();
  return bytes;
}

}  // namespace

// Fills a Model from its plan. Lives for the length of one load.
class Binder {
 public:
  Binder(Model& model, const ModelPlan& plan, const ModelOptions& options,
         const TensorOverlay* overlay = nullptr)
      : model_(model), plan_(plan), tensors_(*model.checkpoint_, plan, options, overlay) {
    INGOT_CHECK(plan.weights.layers.size() == plan.spec.layers.size());
  }
  ~Binder() {
    if (model_.device_ != nullptr) model_.device_->end_placing();
  }
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  Status bind() {
    choose_packing();
    INGOT_TRY(bind_rope_factors());
    INGOT_TRY(bind_embedding());
    for (size_t i = 0; i < plan_.weights.layers.size(); ++i)
      INGOT_TRY(bind_layer(i));
    INGOT_TRY(bind_output());
    model_.parameters_ = tensors_.parameters();
    warn_unused(tensors_.unused(), model_.checkpoint_->name());
    if (decoded_ > 0) {
      log_warning("{}: {} weights are quantized in a way no kernel has and are kept as floats",
                  model_.checkpoint_->name(), decoded_);
    }
    return Status::ok();
  }

  // The layers of the plan and nothing else.
  Status bind_layers() {
    INGOT_TRY(bind_rope_factors());
    for (size_t i = 0; i < plan_.weights.layers.size(); ++i)
      INGOT_TRY(bind_layer(i));
    return Status::ok();
  }

  // What stands before and behind the layers.
  Status bind_ends(bool has_head) {
    INGOT_TRY(bind_rope_factors());
    INGOT_TRY(bind_embedding());
    return has_head ? bind_output() : Status::ok();
  }

 private:
  void choose_packing() {
    if (model_.is_all_on_device_) return;
    const PanelBudget budget =
        panel_budget(*model_.checkpoint_, model_.targets_, free_memory_bytes());
    keeps_rows_ = budget.keeps_rows();
    if (!keeps_rows_) return;
    log_warning(
        "{}: packed weights would take {} of {} MiB of free memory; those of few bits stay in the "
        "file ({} MiB in all) and are multiplied more slowly",
        model_.checkpoint_->name(), budget.panel_bytes >> 20, budget.free_bytes >> 20,
        budget.row_bytes >> 20);
  }

  Status norm(const NormSource& source, const NormSpec& spec, int64_t size, NormWeights& out) {
    INGOT_TRY(out.weight, tensors_.vector(source.weight, size));
    INGOT_TRY(out.bias, tensors_.vector(source.bias, size));
    if (spec.adds_one) {
      for (float& weight : out.weight)
        weight += 1;
    }
    return Status::ok();
  }

  Status linear(const LinearSource& source, int64_t rows, int64_t cols, LinearWeights& out) {
    if (places_) return place(source, rows, cols, out);
    INGOT_TRY(std::optional<QuantTensor> quantized, tensors_.quantized(source.weight, rows, cols));
    if (quantized) {
      INGOT_TRY(out.bias, tensors_.vector(source.bias, rows));
      return bind_quantized(source, *quantized, out);
    }
    INGOT_TRY(BoundTensor bound, tensors_.matrix(source.weight, rows, cols));
    if (!bound.owned.empty()) bound.view.bytes = bound.owned;
    INGOT_TRY(out.bias, tensors_.vector(source.bias, rows));
    INGOT_TRY(out.linear, bind_linear(source.weight, bound.view, out.bias));
    if (!out.linear.is_packed()) out.owned = std::move(bound.owned);
    return Status::ok();
  }

  // A weight that goes to the device; the host keeps nothing of it.
  Status place(const LinearSource& source, int64_t rows, int64_t cols, LinearWeights& out) {
    INGOT_TRY(std::optional<QuantTensor> quantized, tensors_.quantized(source.weight, rows, cols));
    INGOT_TRY(out.bias, tensors_.vector(source.bias, rows));
    if (quantized) {
      auto placed =
          model_.device_->place(*quantized, out.bias, place_options(Layout::kU8), tensors_.exec());
      if (!placed.is_ok()) return named(source.weight, placed.status());
      out.linear = Linear::placed(*std::move(placed));
      if (quantized->owned_codes == nullptr) release(quantized->codes);
      return Status::ok();
    }
    INGOT_TRY(BoundTensor bound, tensors_.matrix(source.weight, rows, cols));
    if (!bound.owned.empty()) bound.view.bytes = bound.owned;
    INGOT_TRY(out.linear, place_view(source.weight, bound.view, out.bias));
    return Status::ok();
  }

  Result<Linear> place_view(const TensorSource& source, const TensorView& view,
                            std::span<const float> bias) {
    auto placed = model_.device_->place(view, bias, place_options(view.layout), tensors_.exec());
    if (!placed.is_ok()) return named(source, placed.status());
    release(view.bytes);
    return Linear::placed(*std::move(placed));
  }

  // What was copied; by all threads, as giving back small pages takes longer than copying them.
  void release(std::span<const std::byte> bytes) {
    constexpr int64_t kPiece = int64_t{2} << 20;
    tensors_.exec().for_ranges(std::ssize(bytes), kPiece, [&](int64_t begin, int64_t end) {
      MappedFile::release(
          bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    });
  }

  PlaceOptions place_options(Layout layout) const {
    return {cast_of(model_.dtype_, layout), model_.dtype_ != ModelDtype::kFloat};
  }

  Status bind_quantized(const LinearSource& source, QuantTensor& tensor, LinearWeights& out) {
    // The weights of one input mostly have one order: its inputs are then put in order once.
    if (tensor.column_order != nullptr) {
      if (last_order_ != nullptr && *last_order_ == *tensor.column_order)
        tensor.column_order = last_order_;
      last_order_ = tensor.column_order;
    }
    auto linear = Linear::bind(tensor, out.bias, model_.targets_, model_.memory_, tensors_.exec(),
                               {.rounding = rounding_of(model_.dtype_)});
    if (!linear.is_ok()) return named(source.weight, linear.status());
    out.linear = *std::move(linear);
    decoded_ += out.linear.is_decoded() ? 1 : 0;
    if (tensor.owned_codes == nullptr) MappedFile::release(tensor.codes);
    return Status::ok();
  }

  // A packed weight's bytes in the file are done with: the model is never twice in memory.
  Result<Linear> bind_linear(const TensorSource& source, const TensorView& view,
                             std::span<const float> bias) {
    auto linear = Linear::bind(
        view, bias, model_.targets_, model_.memory_, tensors_.exec(),
        {cast_of(model_.dtype_, view.layout), keeps_rows_, rounding_of(model_.dtype_)});
    if (!linear.is_ok()) return named(source, linear.status());
    if (linear->is_packed()) MappedFile::release(view.bytes);
    return linear;
  }

  Status named(const TensorSource& source, const Status& status) const {
    return Status(status.code(), fmt::format("{}: tensor '{}': {}", model_.checkpoint_->name(),
                                             source.parts.front().name, status.message()));
  }

  Status bind_rope_factors() {
    INGOT_TRY(const std::vector<float> short_factors,
              tensors_.floats(plan_.weights.rope_short_factors));
    INGOT_TRY(const std::vector<float> long_factors,
              tensors_.floats(plan_.weights.rope_long_factors));
    for (RopeSpec& rope : model_.spec_.ropes) {
      if (!short_factors.empty()) rope.short_factors = short_factors;
      if (!long_factors.empty()) rope.long_factors = long_factors;
      const auto pairs = static_cast<size_t>(rope.rotary_dim / 2);
      for (const std::vector<float>* factors : {&rope.short_factors, &rope.long_factors}) {
        if (factors->empty() || factors->size() == pairs) continue;
        return Status::invalid_data("{}: {} rope factors where the heads need {}",
                                    model_.checkpoint_->name(), factors->size(), pairs);
      }
    }
    return Status::ok();
  }

  Status bind_embedding() {
    const ModelSpec& spec = model_.spec_;
    places_ = model_.is_all_on_device_;
    const int64_t dim = spec.embedding_dim > 0 ? spec.embedding_dim : spec.hidden;
    INGOT_TRY(BoundTensor bound, tensors_.matrix(plan_.weights.embedding, spec.vocab, dim));
    model_.embedding_owned_ = std::move(bound.owned);
    model_.embedding_ = bound.view;
    if (!model_.embedding_owned_.empty()) model_.embedding_.bytes = model_.embedding_owned_;
    if (places_) {
      INGOT_TRY(model_.placed_embedding_,
                place_view(plan_.weights.embedding, model_.embedding_, model_.output_.bias));
    }
    if (spec.learned_positions > 0) {
      INGOT_TRY(model_.positions_, tensors_.vector(plan_.weights.position_embedding,
                                                   spec.learned_positions * spec.hidden));
    }
    if (spec.has_embedding_norm) {
      INGOT_TRY(norm(plan_.weights.embedding_norm, spec.norm, spec.hidden, model_.embedding_norm_));
    }
    if (spec.embedding_dim > 0) {
      INGOT_TRY(linear(plan_.weights.embedding_in, spec.hidden, dim, model_.embedding_in_));
      INGOT_TRY(linear(plan_.weights.embedding_out, dim, spec.hidden, model_.embedding_out_));
    }
    return Status::ok();
  }

  Status bind_attention(const AttentionSpec& spec, const LayerSources& from, LayerWeights& layer) {
    const int64_t hidden = model_.spec_.hidden;
    INGOT_TRY(linear(from.q, spec.heads * spec.key_dim, hidden, layer.q));
    INGOT_TRY(linear(from.k, spec.kv_heads * spec.key_dim, hidden, layer.k));
    INGOT_TRY(linear(from.v, spec.kv_heads * spec.value_dim, hidden, layer.v));
    INGOT_TRY(linear(from.o, hidden, spec.heads * spec.value_dim, layer.o));
    if (spec.qk_norm != QkNorm::kNone) {
      const bool is_shared = spec.qk_norm == QkNorm::kPerHead;
      INGOT_TRY(norm(from.q_norm, spec.qk_norm_spec,
                     is_shared ? spec.key_dim : spec.heads * spec.key_dim, layer.q_norm));
      INGOT_TRY(norm(from.k_norm, spec.qk_norm_spec,
                     is_shared ? spec.key_dim : spec.kv_heads * spec.key_dim, layer.k_norm));
    }
    if (spec.has_sinks) {
      INGOT_TRY(layer.sinks, tensors_.vector(from.sinks, spec.heads));
    }
    if (spec.uses_alibi) layer.alibi_slopes = alibi_slopes(spec);
    return Status::ok();
  }

  Status bind_layer(size_t index) {
    const LayerSpec& spec = model_.spec_.layers[index];
    const LayerSources& from = plan_.weights.layers[index];
    const int64_t hidden = model_.spec_.hidden;
    LayerWeights& layer = model_.layers_[index];
    places_ = spec.is_on_device;
    const NormSpec& norms = model_.spec_.norm;
    if (spec.has_mixer_norm) INGOT_TRY(norm(from.mixer_norm, norms, hidden, layer.mixer_norm));
    if (spec.has_mixer_post_norm)
      INGOT_TRY(norm(from.mixer_post_norm, norms, hidden, layer.mixer_post_norm));
    if (spec.has_ffn_norm) INGOT_TRY(norm(from.ffn_norm, norms, hidden, layer.ffn_norm));
    if (spec.has_ffn_post_norm)
      INGOT_TRY(norm(from.ffn_post_norm, norms, hidden, layer.ffn_post_norm));
    INGOT_TRY(bind_attention(std::get<AttentionSpec>(spec.mixer), from, layer));
    const auto& ffn = std::get<DenseFfnSpec>(spec.ffn);
    if (ffn.is_gated) INGOT_TRY(linear(from.gate, ffn.hidden, hidden, layer.gate));
    INGOT_TRY(linear(from.up, ffn.hidden, hidden, layer.up));
    return linear(from.down, hidden, ffn.hidden, layer.down);
  }

  Status bind_output() {
    const ModelSpec& spec = model_.spec_;
    places_ = model_.is_head_on_device();
    if (spec.has_final_norm)
      INGOT_TRY(norm(plan_.weights.final_norm, spec.norm, spec.hidden, model_.final_norm_));
    const int64_t dim = spec.embedding_dim > 0 ? spec.embedding_dim : spec.hidden;
    if (!spec.ties_output) return linear(plan_.weights.output, spec.vocab, dim, model_.output_);
    INGOT_TRY(model_.output_.bias, tensors_.vector(plan_.weights.output.bias, spec.vocab));
    if (places_ && model_.output_.bias.empty()) {
      model_.output_.linear = model_.placed_embedding_;  // one copy serves both
      return Status::ok();
    }
    if (places_) {
      INGOT_TRY(model_.output_.linear,
                place_view(plan_.weights.embedding, model_.embedding_, model_.output_.bias));
      return Status::ok();
    }
    INGOT_TRY(model_.output_.linear,
              bind_linear(plan_.weights.embedding, model_.embedding_, model_.output_.bias));
    return Status::ok();
  }

  Model& model_;
  const ModelPlan& plan_;
  TensorBinder tensors_;
  std::shared_ptr<const ColumnOrder> last_order_;
  bool keeps_rows_ = false;  // of weights whose panels are much larger
  int64_t decoded_ = 0;      // quantized weights that became floats
  bool places_ = false;      // what is bound just now goes to the device
};

std::shared_ptr<Model> Model::unbound(std::shared_ptr<const Checkpoint> checkpoint,
                                      const ModelSpec& spec, uint64_t weight_bytes,
                                      const ModelOptions& options) {
  std::shared_ptr<Model> model(new Model(options.targets, dtype_for(options.dtype, weight_bytes)));
  model->checkpoint_ = std::move(checkpoint);
  model->spec_ = spec;
  model->layers_.resize(spec.layers.size());  // once: the weights hold views into themselves
  if (options.device != nullptr && options.device_layers > 0) {
    const auto layers = std::ssize(model->layers_);
    model->device_ = options.device;
    model->is_batch_invariant_ = options.is_batch_invariant;
    model->is_all_on_device_ = options.device_layers > layers;
    const int64_t first =
        model->is_all_on_device_ ? 0 : std::max<int64_t>(layers - options.device_layers, 0);
    for (int64_t i = first; i < layers; ++i)
      model->spec_.layers[static_cast<size_t>(i)].is_on_device = true;
  }
  return model;
}

Result<std::shared_ptr<const Model>> Model::load(std::shared_ptr<const Checkpoint> checkpoint,
                                                 const ModelOptions& options) {
  INGOT_TRY(const ModelPlan plan, plan_model(*checkpoint));
  const uint64_t weight_bytes = weight_bytes_of(*checkpoint);
  const ModelOptions placed = decide_layers(checkpoint->name(), plan.spec, weight_bytes, options);
  const std::shared_ptr<Model> model =
      unbound(std::move(checkpoint), plan.spec, weight_bytes, placed);
  INGOT_TRY(Binder(*model, plan, placed).bind());
  return std::shared_ptr<const Model>(model);
}

Result<std::shared_ptr<const Model>> Model::load_layer(std::shared_ptr<const Checkpoint> checkpoint,
                                                       const ModelPlan& plan, size_t layer,
                                                       const TensorOverlay& overlay,
                                                       const ModelOptions& options) {
  ModelPlan part = plan;
  part.spec.layers = {plan.spec.layers.at(layer)};
  part.weights.layers = {plan.weights.layers.at(layer)};
  const uint64_t weight_bytes = weight_bytes_of(*checkpoint);
  const std::shared_ptr<Model> model =
      unbound(std::move(checkpoint), part.spec, weight_bytes, options);
  INGOT_TRY(Binder(*model, part, options, &overlay).bind_layers());
  return std::shared_ptr<const Model>(model);
}

Result<std::shared_ptr<const Model>> Model::load_ends(std::shared_ptr<const Checkpoint> checkpoint,
                                                      const ModelPlan& plan,
                                                      const TensorOverlay& overlay,
                                                      const ModelOptions& options, bool has_head) {
  ModelPlan part = plan;
  part.spec.layers.clear();
  part.weights.layers.clear();
  const uint64_t weight_bytes = weight_bytes_of(*checkpoint);
  const std::shared_ptr<Model> model =
      unbound(std::move(checkpoint), part.spec, weight_bytes, options);
  INGOT_TRY(Binder(*model, part, options, &overlay).bind_ends(has_head));
  return std::shared_ptr<const Model>(model);
}

}  // namespace ingot
