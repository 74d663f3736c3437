// SPDX-License-Identifier: Apache-2.0
#include "convert/gguf_arch.h"

#include <algorithm>
#include <iterator>

namespace ingot {
namespace {

constexpr GgufArch kArchs[] = {
    {"arcee", "arcee"},
    {"bloom", "bloom", true},
    {"cohere", "command-r"},
    {"cohere2", "cohere2"},
    {"ernie4_5", "ernie4_5"},
    {"exaone", "exaone"},
    {"exaone4", "exaone4"},
    {"falcon", "falcon", true},
    {"gemma", "gemma"},
    {"gemma2", "gemma2"},
    {"gemma3", "gemma3"},
    {"glm", "chatglm", false, true},
    {"glm4", "glm4", false, true},
    {"gpt2", "gpt2", true},
    {"gpt_bigcode", "starcoder", true},
    {"gpt_neox", "gptneox", true},
    {"granite", "granite"},
    {"helium", "llama"},
    {"internlm2", "internlm2"},
    {"llama", "llama"},
    {"minicpm", "minicpm"},
    {"ministral", "llama"},
    {"mistral", "llama"},
    {"mpt", "mpt", true},
    {"nemotron", "nemotron"},
    {"olmo", "olmo"},
    {"olmo2", "olmo2"},
    {"olmo3", "olmo2"},
    {"phi", "phi2"},
    {"phi3", "phi3", true, true},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"seed_oss", "seed_oss"},
    {"smollm3", "smollm3"},
    {"stablelm", "stablelm"},
    {"starcoder2", "starcoder2"},
};

}  // namespace

std::span<const GgufArch> gguf_archs() {
  return kArchs;
}

const GgufArch* find_gguf_arch(std::string_view hf) {
  const auto* const it = std::ranges::find(kArchs, hf, &GgufArch::hf);
  return it == std::end(kArchs) ? nullptr : it;
}

}  // namespace ingot
