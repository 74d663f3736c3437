// SPDX-License-Identifier: Apache-2.0
// Every GGUF architecture, by its general.architecture. Most are a row of facts that the file's
// keys do not tell; the others have a function in gguf_archs.cc. Activations are those of the
// original models.
#include "model/gguf_archs.h"
#include "model/gguf_decoder.h"

namespace ingot {
namespace {

constexpr GgufFamily kLlama = {.pairing = RopePairing::kNeighbours};
constexpr GgufFamily kHalvesLlama = {};
constexpr GgufFamily kArcee = {
    .pairing = RopePairing::kNeighbours, .activation = Activation::kReluSquared, .is_gated = false};
constexpr GgufFamily kExaone4 = {.rope = RopeUse::kSlidingLayers,
                                 .has_mixer_norm = false,
                                 .has_ffn_norm = false,
                                 .has_post_norms = true,
                                 .qk_norm = QkNorm::kPerHead,
                                 .window_period = 4};
constexpr GgufFamily kNemotron = {
    .norm = NormKind::kLayer, .activation = Activation::kReluSquared, .is_gated = false};
constexpr GgufFamily kOlmo = {
    .norm = NormKind::kLayer, .has_norm_weights = false, .pairing = RopePairing::kNeighbours};
constexpr GgufFamily kOlmo2 = {.has_mixer_norm = false,  // and OLMo 3
                               .has_ffn_norm = false,
                               .has_post_norms = true,
                               .qk_norm = QkNorm::kWhole,
                               .window_period = 4,
                               .has_plain_sliding_rope = true};
constexpr GgufFamily kOrion = {.norm = NormKind::kLayer};
constexpr GgufFamily kPhi2 = {.norm = NormKind::kLayer,
                              .activation = Activation::kGeluTanh,
                              .is_gated = false,
                              .form = BlockForm::kParallel,
                              .has_ffn_norm = false};
constexpr GgufFamily kQwen3 = {.qk_norm = QkNorm::kPerHead};
constexpr GgufFamily kRefact = {.rope = RopeUse::kNowhere, .uses_alibi = true};
constexpr GgufFamily kSeedOss = {.ffn_norm = "post_attention_norm"};
constexpr GgufFamily kSmolLm3 = {.pairing = RopePairing::kNeighbours,
                                 .rope = RopeUse::kThreeOfFour};
constexpr GgufFamily kStarCoder2 = {
    .norm = NormKind::kLayer, .activation = Activation::kGeluTanh, .is_gated = false};

template <const GgufFamily& family>
Result<ModelPlan> map(const GgufMetadata& metadata, const Checkpoint& checkpoint) {
  INGOT_TRY(const GgufConfig config, GgufConfig::open(metadata, checkpoint));
  return map_gguf_decoder(config, family);
}

constexpr GgufMapper kGgufMappers[] = {
    {"arcee", map<kArcee>},          {"baichuan", map_gguf_baichuan},
    {"bloom", map_gguf_bloom},       {"chatglm", map<kLlama>},
    {"cohere2", map_gguf_cohere2},   {"command-r", map_gguf_command_r},
    {"ernie4_5", map<kLlama>},       {"exaone", map<kHalvesLlama>},
    {"exaone4", map<kExaone4>},      {"falcon", map_gguf_falcon},
    {"gemma", map_gguf_gemma},       {"gemma2", map_gguf_gemma2},
    {"gemma3", map_gguf_gemma3},     {"glm4", map_gguf_glm4},
    {"gpt2", map_gguf_gpt2},         {"gptneox", map_gguf_gptneox},
    {"granite", map_gguf_granite},   {"internlm2", map<kLlama>},
    {"llama", map<kLlama>},          {"minicpm", map_gguf_minicpm},
    {"mistral3", map_gguf_mistral3}, {"mpt", map_gguf_mpt},
    {"nemotron", map<kNemotron>},    {"olmo", map<kOlmo>},
    {"olmo2", map<kOlmo2>},          {"openelm", map<kQwen3>},
    {"orion", map<kOrion>},          {"phi2", map<kPhi2>},
    {"phi3", map<kHalvesLlama>},     {"qwen2", map<kHalvesLlama>},
    {"qwen2vl", map<kHalvesLlama>},  // its text half: one position in all sections
    {"qwen3", map<kQwen3>},          {"qwen3vl", map<kQwen3>},  // likewise
    {"refact", map<kRefact>},        {"seed_oss", map<kSeedOss>},
    {"smollm3", map<kSmolLm3>},      {"stablelm", map_gguf_stablelm},
    {"starcoder", map_gguf_gpt2},    {"starcoder2", map<kStarCoder2>},
    {"xverse", map<kLlama>},
};

}  // namespace

std::span<const GgufMapper> gguf_mappers() {
  return kGgufMappers;
}

}  // namespace ingot
