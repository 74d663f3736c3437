// SPDX-License-Identifier: Apache-2.0
// The mappers of this folder from config.json. One line here and one in hf_mapper_list.cc for each.
#pragma once

#include <string_view>

#include "base/status.h"
#include "model/hf_config.h"
#include "model/mapper.h"

namespace ingot {

Result<ModelPlan> map_hf_arcee(const HfConfig& config);
Result<ModelPlan> map_hf_bloom(const HfConfig& config);
Result<ModelPlan> map_hf_cohere(const HfConfig& config);
Result<ModelPlan> map_hf_cohere2(const HfConfig& config);
Result<ModelPlan> map_hf_ernie4_5(const HfConfig& config);
Result<ModelPlan> map_hf_exaone(const HfConfig& config);
Result<ModelPlan> map_hf_exaone4(const HfConfig& config);
Result<ModelPlan> map_hf_falcon(const HfConfig& config);
Result<ModelPlan> map_hf_gemma(const HfConfig& config);
Result<ModelPlan> map_hf_gemma2(const HfConfig& config);
Result<ModelPlan> map_hf_gemma3(const HfConfig& config);
Result<ModelPlan> map_hf_gemma3_text(const HfConfig& config);
Result<ModelPlan> map_hf_glm(const HfConfig& config);
Result<ModelPlan> map_hf_glm4(const HfConfig& config);
Result<ModelPlan> map_hf_gpt2(const HfConfig& config);
Result<ModelPlan> map_hf_gpt_bigcode(const HfConfig& config);
Result<ModelPlan> map_hf_gpt_neo(const HfConfig& config);
Result<ModelPlan> map_hf_gpt_neox(const HfConfig& config);
Result<ModelPlan> map_hf_gptj(const HfConfig& config);
Result<ModelPlan> map_hf_granite(const HfConfig& config);
Result<ModelPlan> map_hf_helium(const HfConfig& config);
Result<ModelPlan> map_hf_hunyuan_v1_dense(const HfConfig& config);
Result<ModelPlan> map_hf_internlm2(const HfConfig& config);
Result<ModelPlan> map_hf_llama(const HfConfig& config);
Result<ModelPlan> map_hf_llava(const HfConfig& config);
Result<ModelPlan> map_hf_minicpm(const HfConfig& config);
Result<ModelPlan> map_hf_ministral(const HfConfig& config);
Result<ModelPlan> map_hf_mistral(const HfConfig& config);
Result<ModelPlan> map_hf_mistral3(const HfConfig& config);
Result<ModelPlan> map_hf_mpt(const HfConfig& config);
Result<ModelPlan> map_hf_nemotron(const HfConfig& config);
Result<ModelPlan> map_hf_olmo(const HfConfig& config);
Result<ModelPlan> map_hf_olmo2(const HfConfig& config);
Result<ModelPlan> map_hf_olmo3(const HfConfig& config);
Result<ModelPlan> map_hf_opt(const HfConfig& config);
Result<ModelPlan> map_hf_phi(const HfConfig& config);
Result<ModelPlan> map_hf_phi3(const HfConfig& config);
Result<ModelPlan> map_hf_qwen2(const HfConfig& config);
Result<ModelPlan> map_hf_qwen3(const HfConfig& config);
Result<ModelPlan> map_hf_seed_oss(const HfConfig& config);
Result<ModelPlan> map_hf_smollm3(const HfConfig& config);
Result<ModelPlan> map_hf_stablelm(const HfConfig& config);
Result<ModelPlan> map_hf_starcoder2(const HfConfig& config);

// The text part of a larger model: the mapper of `model_type`, if it is a text model we know.
Result<ModelPlan> plan_text_model(std::string_view model_type, const HfConfig& config);

}  // namespace ingot
