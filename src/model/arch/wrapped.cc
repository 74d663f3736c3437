// SPDX-License-Identifier: Apache-2.0
// Models that hold a decoder under `text_config` beside an image encoder: only the text part is
// mapped. Gemma 3, LLaVA, Mistral Small 3.
#include "model/arch/hf_arch.h"
#include "model/hf_decoder.h"

namespace ingot {
namespace {

// `fallback` is the text model when text_config does not name one.
Result<ModelPlan> map_text_part(const HfConfig& config, std::string_view fallback) {
  const std::optional<HfConfig> text = config.object("text_config");
  if (!text) return config.error("text_config", "missing");
  INGOT_TRY(const std::string type, text->string_or("model_type", fallback));
  if (text->has("text_config"))
    return text->unsupported("text_config", "a text model inside a text model");
  if (text->has("quantization_config"))
    return text->unsupported("quantization_config", "must stand beside text_config, not in it");
  INGOT_TRY(ModelPlan plan, plan_text_model(type, *text));

  INGOT_TRY(const bool ties_output,
            config.boolean_or("tie_word_embeddings", plan.spec.ties_output));
  if (ties_output != plan.spec.ties_output) {
    plan.spec.ties_output = ties_output;
    plan.weights.output.weight =
        ties_output ? TensorSource() : TensorSource::named("lm_head.weight");
  }
  for_each_source(plan.weights, [](TensorSource& source) {
    for (TensorPart& part : source.parts)
      part.name.insert(0, "language_model.");
  });
  // As newer tools write them.
  plan.weights.aliases = {{"language_model.model.", "model.language_model."},
                          {"language_model.lm_head.", "lm_head."}};
  return plan;
}

}  // namespace

Result<ModelPlan> map_hf_gemma3(const HfConfig& config) {
  return map_text_part(config, "gemma3_text");
}

Result<ModelPlan> map_hf_llava(const HfConfig& config) {
  return map_text_part(config, "llama");
}

Result<ModelPlan> map_hf_mistral3(const HfConfig& config) {
  return map_text_part(config, "mistral");
}

}  // namespace ingot
