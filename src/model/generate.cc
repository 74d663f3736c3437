// SPDX-License-Identifier: Apache-2.0
#include "model/generate.h"

#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/free_memory.h"
#include "base/thread_pool.h"
#include "model/device_plan.h"

namespace ingot {
namespace {

std::vector<WantedWeight> layer_weights(const ModelSpec& spec, size_t layer) {
  const auto& attention = std::get<AttentionSpec>(spec.layers[layer].mixer);
  const auto& ffn = std::get<DenseFfnSpec>(spec.layers[layer].ffn);
  const auto index = static_cast<int64_t>(layer);
  return {
      {WeightPart::kQ, index, attention.heads * attention.key_dim, spec.hidden},
      {WeightPart::kK, index, attention.kv_heads * attention.key_dim, spec.hidden},
      {WeightPart::kV, index, attention.kv_heads * attention.value_dim, spec.hidden},
      {WeightPart::kO, index, spec.hidden, attention.heads * attention.value_dim},
      {WeightPart::kGate, index, ffn.hidden, spec.hidden},
      {WeightPart::kUp, index, ffn.hidden, spec.hidden},
      {WeightPart::kDown, index, spec.hidden, ffn.hidden},
  };
}

LinearWeights& place_of(LayerWeights& layer, WeightPart part) {
  switch (part) {
    case WeightPart::kQ:
      return layer.q;
    case WeightPart::kK:
      return layer.k;
    case WeightPart::kV:
      return layer.v;
    case WeightPart::kO:
      return layer.o;
    case WeightPart::kGate:
      return layer.gate;
    case WeightPart::kUp:
      return layer.up;
    default:
      return layer.down;
  }
}

WantedWeight embedding_of(const ModelSpec& spec) {
  return {WeightPart::kEmbedding, 0, spec.vocab, spec.hidden};
}

WantedWeight head_of(const ModelSpec& spec) {
  return {WeightPart::kHead, 0, spec.vocab, spec.hidden};
}

uint64_t end_bytes(const WeightGenerator& generator) {
  const ModelSpec& spec = generator.spec();
  const uint64_t head = spec.ties_output ? 0 : generator.size_bytes(head_of(spec));
  return generator.size_bytes(embedding_of(spec)) + head;
}

uint64_t layer_bytes(const WeightGenerator& generator, size_t layer) {
  uint64_t bytes = 0;
  for (const WantedWeight& wanted : layer_weights(generator.spec(), layer))
    bytes += generator.size_bytes(wanted);
  return bytes;
}

}  // namespace

// Fills a Model. Lives for the length of one call.
class GeneratedBinder {
 public:
  GeneratedBinder(Model& model, WeightGenerator& generator, const ModelOptions& options)
      : model_(model), generator_(generator), options_(options), pool_(options.threads) {}
  ~GeneratedBinder() {
    if (model_.device_ != nullptr) model_.device_->end_placing();
  }
  GeneratedBinder(const GeneratedBinder&) = delete;
  GeneratedBinder& operator=(const GeneratedBinder&) = delete;

  Status bind() {
    INGOT_TRY(check_memory());
    INGOT_TRY(bind_embedding());
    for (size_t i = 0; i < model_.layers_.size(); ++i)
      INGOT_TRY(bind_layer(i));
    return bind_head();
  }

 private:
  // What no file backs is really there: better refused than killed.
  Status check_memory() const {
    uint64_t bytes = model_.is_all_on_device_ ? 0 : end_bytes(generator_);
    for (size_t i = 0; i < model_.layers_.size(); ++i) {
      if (!model_.spec_.layers[i].is_on_device) bytes += layer_bytes(generator_, i);
    }
    const uint64_t free = free_memory_bytes();
    if (free == 0 || bytes <= free / 10 * 9) return Status::ok();
    return Status::resource_exhausted("{} needs {} MiB of memory, of which {} MiB are free",
                                      model_.checkpoint_->name(), bytes >> 20, free >> 20);
  }

  Status bind_embedding() {
    const ModelSpec& spec = model_.spec_;
    const WantedWeight wanted = embedding_of(spec);
    const GeneratedWeight& weight = generator_.weight(wanted);
    INGOT_CHECK(!weight.quantized);
    count(wanted);
    model_.embedding_ = weight.plain;
    if (!model_.is_all_on_device_) {
      model_.embedding_owned_ = weight.bytes;
      model_.embedding_.bytes = model_.embedding_owned_;
      return Status::ok();
    }
    INGOT_TRY(model_.placed_embedding_, placed(weight));
    model_.embedding_.bytes = {};  // the generator's, which goes; the device has its own
    return Status::ok();
  }

  Status bind_layer(size_t index) {
    LayerWeights& layer = model_.layers_[index];
    const std::vector<float> ones(static_cast<size_t>(model_.spec_.hidden), 1.0F);
    layer.mixer_norm.weight = ones;
    layer.ffn_norm.weight = ones;
    places_ = model_.spec_.layers[index].is_on_device;
    for (const WantedWeight& wanted : layer_weights(model_.spec_, index))
      INGOT_TRY(linear(wanted, place_of(layer, wanted.part)));
    if (options_.progress) {
      options_.progress(static_cast<double>(index + 1) /
                        static_cast<double>(model_.layers_.size()));
    }
    return Status::ok();
  }

  Status bind_head() {
    const ModelSpec& spec = model_.spec_;
    model_.final_norm_.weight.assign(static_cast<size_t>(spec.hidden), 1.0F);
    places_ = model_.is_head_on_device();
    if (!spec.ties_output) return linear(head_of(spec), model_.output_);
    if (places_) {
      model_.output_.linear = model_.placed_embedding_;  // one copy serves both
      return Status::ok();
    }
    INGOT_TRY(model_.output_.linear, bound(model_.embedding_));
    return Status::ok();
  }

  Status linear(const WantedWeight& wanted, LinearWeights& out) {
    const GeneratedWeight& weight = generator_.weight(wanted);
    count(wanted);
    if (places_) {
      INGOT_TRY(out.linear, placed(weight));
      return Status::ok();
    }
    if (weight.quantized) {
      INGOT_TRY(out.linear, Linear::bind(*weight.quantized, {}, model_.targets_, model_.memory_,
                                         exec(), {.rounding = rounding_of(model_.dtype_)}));
      return Status::ok();
    }
    INGOT_TRY(out.linear, bound(weight.plain));
    if (out.linear.is_packed()) return Status::ok();
    TensorView own = weight.plain;  // used as it is: every layer needs its own
    out.owned = weight.bytes;
    own.bytes = out.owned;
    INGOT_TRY(out.linear, bound(own));
    return Status::ok();
  }

  Result<Linear> bound(const TensorView& view) {
    return Linear::bind(
        view, {}, model_.targets_, model_.memory_, exec(),
        {.cast = cast_of(model_.dtype_, view.layout), .rounding = rounding_of(model_.dtype_)});
  }

  // Packed and sent the first time, copied on the device from then on.
  Result<Linear> placed(const GeneratedWeight& weight) {
    std::shared_ptr<const DeviceWeight>& first = placed_[&weight];
    Device& device = *model_.device_;
    if (first != nullptr) {
      INGOT_TRY(std::shared_ptr<const DeviceWeight> copy, device.duplicate(*first));
      return Linear::placed(std::move(copy));
    }
    const Layout layout = weight.quantized ? Layout::kU8 : weight.plain.layout;
    const PlaceOptions options{cast_of(model_.dtype_, layout), model_.dtype_ != ModelDtype::kFloat};
    if (weight.quantized) {
      INGOT_TRY(first, device.place(*weight.quantized, {}, options, exec()));
    } else {
      INGOT_TRY(first, device.place(weight.plain, {}, options, exec()));
    }
    return Linear::placed(first);
  }

  void count(const WantedWeight& wanted) { model_.parameters_ += wanted.rows * wanted.cols; }
  Exec exec() { return Exec(pool_); }

  Model& model_;
  WeightGenerator& generator_;
  const ModelOptions& options_;
  ThreadPool pool_;
  std::unordered_map<const GeneratedWeight*, std::shared_ptr<const DeviceWeight>> placed_;
  bool places_ = false;  // what is bound just now goes to the device
};

Result<std::shared_ptr<const Model>> Model::generate(std::string name, WeightGenerator& generator,
                                                     const ModelOptions& options) {
  const ModelSpec& spec = generator.spec();
  uint64_t weight_bytes = end_bytes(generator);
  for (size_t i = 0; i < spec.layers.size(); ++i)
    weight_bytes += layer_bytes(generator, i);
  const ModelOptions placed = decide_layers(name, spec, weight_bytes, options);
  const std::shared_ptr<Model> model =
      unbound(Checkpoint::without_tensors(std::move(name)), spec, weight_bytes, placed);
  INGOT_TRY(GeneratedBinder(*model, generator, placed).bind());
  return std::shared_ptr<const Model>(model);
}

}  // namespace ingot
