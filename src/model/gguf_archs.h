// SPDX-License-Identifier: Apache-2.0
// The GGUF architectures that are more than a row of facts: each reads what its files say beyond
// the common keys. gguf_mapper_list.cc has the others.
#pragma once

#include "model/mapper.h"

namespace ingot {

Result<ModelPlan> map_gguf_baichuan(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_bloom(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_cohere2(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_command_r(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_falcon(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_gemma(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_gemma2(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_gemma3(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_glm4(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_gpt2(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_gptneox(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_granite(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_minicpm(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_mistral3(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_mpt(const GgufMetadata& metadata, const Checkpoint& checkpoint);
Result<ModelPlan> map_gguf_stablelm(const GgufMetadata& metadata, const Checkpoint& checkpoint);

}  // namespace ingot
