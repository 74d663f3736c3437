// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/arch/hf_arch.h"
#include "model/mapper.h"

namespace ingot {
namespace {

constexpr HfMapper kMappers[] = {
    {"aquila", map_hf_llama},
    {"arcee", map_hf_arcee},
    {"bloom", map_hf_bloom},
    {"cohere", map_hf_cohere},
    {"cohere2", map_hf_cohere2},
    {"ernie4_5", map_hf_ernie4_5},
    {"exaone", map_hf_exaone},
    {"exaone4", map_hf_exaone4},
    {"falcon", map_hf_falcon},
    {"gemma", map_hf_gemma},
    {"gemma2", map_hf_gemma2},
    {"gemma3", map_hf_gemma3},
    {"gemma3_text", map_hf_gemma3_text},
    {"glm", map_hf_glm},
    {"glm4", map_hf_glm4},
    {"gpt2", map_hf_gpt2},
    {"gpt_bigcode", map_hf_gpt_bigcode},
    {"gpt_neo", map_hf_gpt_neo},
    {"gpt_neox", map_hf_gpt_neox},
    {"gptj", map_hf_gptj},
    {"granite", map_hf_granite},
    {"helium", map_hf_helium},
    {"hunyuan_v1_dense", map_hf_hunyuan_v1_dense},
    {"internlm2", map_hf_internlm2},
    {"llama", map_hf_llama},
    {"llava", map_hf_llava},
    {"minicpm", map_hf_minicpm},
    {"ministral", map_hf_ministral},
    {"mistral", map_hf_mistral},
    {"mistral3", map_hf_mistral3},
    {"mpt", map_hf_mpt},
    {"nemotron", map_hf_nemotron},
    {"olmo", map_hf_olmo},
    {"olmo2", map_hf_olmo2},
    {"olmo3", map_hf_olmo3},
    {"opt", map_hf_opt},
    {"phi", map_hf_phi},
    {"phi3", map_hf_phi3},
    {"qwen2", map_hf_qwen2},
    {"qwen3", map_hf_qwen3},
    {"seed_oss", map_hf_seed_oss},
    {"smollm3", map_hf_smollm3},
    {"stablelm", map_hf_stablelm},
    {"starcoder2", map_hf_starcoder2},
    {"xverse", map_hf_llama},
};

const HfMapper* find_mapper(std::string_view model_type) {
  const auto* const it = std::ranges::find(kMappers, model_type, &HfMapper::model_type);
  return it == std::end(kMappers) ? nullptr : it;
}

Status unknown_model(const HfConfig& config, std::string_view model_type) {
  std::string known;
  for (const HfMapper& mapper : kMappers)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", mapper.model_type);
  const std::string_view code =
      config.has("auto_map") ? " (its own code, named by auto_map, is never run)" : "";
  return config.unsupported("model_type", fmt::format("unknown architecture '{}'{}; known are {}",
                                                      model_type, code, known));
}

}  // namespace

std::span<const HfMapper> hf_mappers() {
  return kMappers;
}

Result<ModelPlan> plan_text_model(std::string_view model_type, const HfConfig& config) {
  const HfMapper* mapper = find_mapper(model_type);
  return mapper == nullptr ? Result<ModelPlan>(unknown_model(config, model_type))
                           : mapper->map(config);
}

Result<ModelPlan> plan_from_config(const HfConfig& config) {
  INGOT_TRY(const std::string model_type, config.string("model_type"));
  INGOT_TRY(const QuantConfig quantization, read_quant_config(config));
  INGOT_TRY(ModelPlan plan, plan_text_model(model_type, config));
  plan.quantization = quantization;
  return plan;
}

}  // namespace ingot
