// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_pre.h"

#include <algorithm>

#include "tokenizer/known_patterns.h"

namespace ingot::tok {

namespace {

namespace p = patterns;

constexpr std::string_view kDefault[] = {R"([\p{P}\$\+<=>\^~\|]+)", p::kGpt2, p::kNumbers,
                                         "[0-9][0-9][0-9]"};
constexpr std::string_view kGpt2[] = {p::kGpt2};
constexpr std::string_view kLlama3[] = {p::kLlama3};
constexpr std::string_view kJais2[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"};
constexpr std::string_view kDeepseekLlm[] = {
    R"([\r\n])",
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-"
    "\u02af\u0370-"
    "\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-"
    "\u03f5\u03f7-\u0481"
    "\u048a-\u052f\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-"
    "\u1cbf\u1d00-"
    "\u1d2b\u1d6b-\u1d77\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-"
    "\u1f57"
    "\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-"
    "\u1fcc\u1fd0-"
    "\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107\u210a-"
    "\u2113\u2115\u2119-"
    "\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f\u2145-"
    "\u2149\u214e\u2183\u2184"
    "\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-"
    "\ua76f\ua771-"
    "\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-"
    "\uff5a\U00010400-"
    "\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2\U00010cc0-\U00010cf2"
    "\U000118a0-\U000118df\U0001e900-\U0001e943]+",
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+",
    p::kSpaceAtEnd,
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    p::kNumbers,
};
constexpr std::string_view kDeepseekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                               "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
                                               p::kNumber};
constexpr std::string_view kDeepseek3[] = {p::kNumbers3, p::kCjkRuns, p::kDeepseek3};
constexpr std::string_view kYoutu[] = {
    "[\uac00-\ud7a3\u3131-\u318e]+|["
    "\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-"
    "\u303f\ufe30-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
};
constexpr std::string_view kFalcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", p::kGpt2, "[0-9][0-9][0-9]"};
constexpr std::string_view kDigitsThenGpt2[] = {p::kNumber, p::kGpt2};
constexpr std::string_view kQwen2[] = {p::kQwen2};
constexpr std::string_view kQwen35[] = {p::kQwen35};
constexpr std::string_view kBloom[] = {
    " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+"};
constexpr std::string_view kViking[] = {
    " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+", p::kNumber};
constexpr std::string_view kTekken[] = {p::kTekken};
constexpr std::string_view kChameleon[] = {
    "<sentinel:[0-9]+>",       "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
    R"(([\t\n]|    |  ))",     p::kNumber,
    R"([\p{P}!-/:-@\[-`{-~])", p::kGpt2};
constexpr std::string_view kO200k[] = {p::kO200k};
constexpr std::string_view kTinyAya[] = {p::kDigitGroups, p::kO200k};
constexpr std::string_view kKimiK2[] = {
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kSuperBpe[] = {p::kNumbers, p::kDigitCuts};
constexpr std::string_view kBailing[] = {p::kBailing};
constexpr std::string_view kSeedCoder[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr std::string_view kAfmoe[] = {
    p::kNumberGroups,
    "[\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-"
    "\u2fdf\u0e40-"
    "\u0e7f\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-"
    "\u11ff]+",
    p::kDeepseek3,
};
constexpr std::string_view kLines[] = {p::kLines};
constexpr std::string_view kLaguna[] = {p::kLines, p::kQwen2};
constexpr std::string_view kExaoneMoe[] = {
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};
constexpr std::string_view kMiniCpm5[] = {p::kNumbers3, p::kMiniCpm5};
constexpr std::string_view kWords[] = {R"(\S+)"};

constexpr bool kWhole = true;   // ignore_merges
constexpr bool kBos = true;     // adds_bos
constexpr bool kChars = false;  // is_byte_level

constexpr GgufPre kKinds[] = {
    {"default", kDefault},
    {"llama3", kLlama3, kWhole, kBos},
    {"llama-v3", kLlama3, kWhole, kBos},
    {"llama-bpe", kLlama3, kWhole, kBos},
    {"falcon3", kLlama3, kWhole, kBos},
    {"falcon-h1", kLlama3, kWhole, kBos},
    {"pixtral", kLlama3, kWhole, kBos},
    {"midm-2.0", kLlama3, kWhole, kBos},
    {"lfm2", kLlama3, kWhole, kBos},
    {"jina-v5-nano", kLlama3, kWhole, kBos},
    {"jais-2", kJais2},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"glm4", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-v3", kDeepseek3},
    {"hunyuan-dense", kDeepseek3},
    {"joyai-llm", kDeepseek3},
    {"youtu", kYoutu, kWhole},
    {"falcon", kFalcon},
    {"starcoder", kDigitsThenGpt2},
    {"refact", kDigitsThenGpt2},
    {"command-r", kDigitsThenGpt2},
    {"smollm", kDigitsThenGpt2},
    {"codeshell", kDigitsThenGpt2},
    {"exaone", kDigitsThenGpt2},
    {"minerva-7b", kDigitsThenGpt2},
    {"mellum2", kDigitsThenGpt2},
    {"gpt-2", kGpt2},
    {"phi-2", kGpt2},
    {"jina-es", kGpt2},
    {"jina-de", kGpt2},
    {"jina-v1-en", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v2-de", kGpt2},
    {"jina-v2-code", kGpt2},
    {"roberta-bpe", kGpt2},
    {"gigachat", kGpt2},
    {"a.x-4.0", kGpt2},
    {"mellum", kGpt2},
    {"modern-bert", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"jais", kGpt2},
    {"trillion", kGpt2},
    {"granite-docling", kGpt2},
    {"exaone4", kGpt2},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"kormo", kQwen2},
    {"f2llmv2", kQwen2},
    {"megrez", kQwen2},
    {"stablelm2", kQwen2},
    {"hunyuan", kQwen2},
    {"solar-open", kQwen2},
    {"grok-2", kQwen2},
    {"qwen35", kQwen35},
    {"poro-chat", kBloom},
    {"bloom", kBloom},
    {"gpt3-finnish", kBloom},
    {"viking", kViking},
    {"tekken", kTekken, kWhole, kBos},
    {"chameleon", kChameleon, false, kBos},
    {"gpt-4o", kO200k},
    {"llama4", kO200k},
    {"kanana2", kO200k},
    {"talkie", kO200k},
    {"minimax-m2", kO200k},
    {"granite-embed-multi-97m", kO200k, kWhole},
    {"tiny_aya", kTinyAya},
    {"cohere2moe", kTinyAya},
    {"kimi-k2", kKimiK2},
    {"superbpe", kSuperBpe},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"afmoe", kAfmoe},
    {"laguna", kLaguna},
    {"exaone-moe", kExaoneMoe},
    {"minicpm5", kMiniCpm5, kWhole},
    {"gemma4", kLines, kWhole, kBos, kChars},
    {"granite-embed-multi-311m", kLines, kWhole, kBos, kChars},
    {"sarvam-moe", kLines, false, false, kChars},
    {"whitespace", kWords, false, false, kChars},
};

}  // namespace

std::span<const GgufPre> gguf_pre_kinds() {
  return kKinds;
}

const GgufPre* find_gguf_pre(std::string_view name) {
  if (name.empty()) name = "default";
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const GgufPre& kind) { return kind.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

}  // namespace ingot::tok
