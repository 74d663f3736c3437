// SPDX-License-Identifier: Apache-2.0
#include "engine/sampling_params.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <span>

#include "base/limits.h"

namespace ingot {
namespace {

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
constexpr float kGreedyBelow = 1e-5F;  // dividing logits by less leaves one token anyway
constexpr size_t kMostStages = 32;

template <class T>
Status check_range(const char* field, T value, T low, T high) {
  if (value >= low && value <= high) return Status::ok();  // false for NaN too
  return Status::invalid_argument("{} is {} but must be in [{}, {}]", field, value, low, high);
}

Status check_count(const char* field, size_t count, size_t most) {
  if (count <= most) return Status::ok();
  return Status::invalid_argument("{} has {} entries but may have {}", field, count, most);
}

Status check_ids(const char* field, std::span<const TokenId> ids, int64_t vocab) {
  for (const TokenId id : ids) {
    if (id < 0 || id >= vocab) {
      return Status::invalid_argument("{} holds token id {}, outside the vocabulary [0, {})", field,
                                      id, vocab);
    }
  }
  return Status::ok();
}

Status check_words(const char* field, const std::vector<std::vector<TokenId>>& words, size_t most) {
  INGOT_TRY(check_count(field, words.size(), most));
  for (const std::vector<TokenId>& word : words) {
    if (word.empty()) return Status::invalid_argument("{} holds an empty sequence", field);
    if (word.size() > limits::kSamplingSequenceTokens) {
      return Status::invalid_argument("{} holds a sequence of {} tokens but the longest is {}",
                                      field, word.size(), limits::kSamplingSequenceTokens);
    }
  }
  return Status::ok();
}

Status check_cuts(const SamplingParams& params) {
  INGOT_TRY(check_range("temperature", params.temperature, 0.0F, 100.0F));
  INGOT_TRY(check_range("dynatemp_range", params.dynatemp_range, 0.0F, 100.0F));
  INGOT_TRY(check_range("dynatemp_exponent", params.dynatemp_exponent, 0.0F, 100.0F));
  INGOT_TRY(check_range("top_k", params.top_k, -1, kMost));
  INGOT_TRY(check_range("top_p", params.top_p, 0.0F, 1.0F));
  INGOT_TRY(check_range("min_p", params.min_p, 0.0F, 1.0F));
  INGOT_TRY(check_range("typical_p", params.typical_p, 0.0F, 1.0F));
  INGOT_TRY(check_range("top_n_sigma", params.top_n_sigma, -1.0F, 1e6F));
  INGOT_TRY(check_range("xtc_probability", params.xtc_probability, 0.0F, 1.0F));
  INGOT_TRY(check_range("xtc_threshold", params.xtc_threshold, 0.0F, 1.0F));
  if (params.mirostat != 0 && params.mirostat != 2)
    return Status::invalid_argument("mirostat is {} but must be 0 (off) or 2", params.mirostat);
  INGOT_TRY(check_range("mirostat_tau", params.mirostat_tau, 0.0F, 100.0F));
  return check_range("mirostat_eta", params.mirostat_eta, 0.0F, 10.0F);
}

Status check_penalties(const SamplingParams& params) {
  INGOT_TRY(check_range("repetition_penalty", params.repetition_penalty, 1e-3F, 1e3F));
  INGOT_TRY(check_range("repeat_last_n", params.repeat_last_n, -1, kMost));
  INGOT_TRY(check_range("presence_penalty", params.presence_penalty, -100.0F, 100.0F));
  INGOT_TRY(check_range("frequency_penalty", params.frequency_penalty, -100.0F, 100.0F));
  INGOT_TRY(check_range("dry_multiplier", params.dry_multiplier, 0.0F, 1e3F));
  INGOT_TRY(check_range("dry_base", params.dry_base, 0.0F, 1e3F));
  INGOT_TRY(check_range("dry_allowed_length", params.dry_allowed_length, 0, kMost));
  INGOT_TRY(check_range("dry_penalty_last_n", params.dry_penalty_last_n, -1, kMost));
  return check_words("dry_breakers", params.dry_breakers, limits::kSamplingBreakers);
}

Status check_lists(const SamplingParams& params) {
  INGOT_TRY(check_count("logit_bias", params.logit_bias.size(), limits::kSamplingIds));
  for (const auto& [id, bias] : params.logit_bias) {
    const bool is_ban = bias == -std::numeric_limits<float>::infinity();
    if (is_ban) continue;
    INGOT_TRY(check_range("logit_bias", bias, -1e5F, 1e5F));
  }
  INGOT_TRY(check_words("bad_words", params.bad_words, limits::kSamplingWords));
  INGOT_TRY(check_count("allowed_token_ids", params.allowed_token_ids.size(),
                        static_cast<size_t>(limits::kVocab)));
  INGOT_TRY(check_count("stop_token_ids", params.stop_token_ids.size(), limits::kSamplingIds));
  INGOT_TRY(check_range("min_tokens", params.min_tokens, 0, kMost));
  INGOT_TRY(check_range("logprobs", params.logprobs.value_or(0), 0, 1 << 20));
  INGOT_TRY(check_range("prompt_logprobs", params.prompt_logprobs.value_or(0), 0, 1 << 20));
  INGOT_TRY(check_range("prompt_logprobs_from", params.prompt_logprobs_from, 0, kMost));
  return check_count("samplers", params.stages.size(), kMostStages);
}

struct StageName {
  SamplerStage stage;
  std::string_view name;
  char letter;
};
constexpr std::array<StageName, 9> kStageNames{{
    {SamplerStage::kPenalties, "penalties", 'e'},
    {SamplerStage::kDry, "dry", 'd'},
    {SamplerStage::kTopNSigma, "top_n_sigma", 's'},
    {SamplerStage::kTopK, "top_k", 'k'},
    {SamplerStage::kTypicalP, "typ_p", 'y'},
    {SamplerStage::kTopP, "top_p", 'p'},
    {SamplerStage::kMinP, "min_p", 'm'},
    {SamplerStage::kXtc, "xtc", 'x'},
    {SamplerStage::kTemperature, "temperature", 't'},
}};

// "top-k", "topk" and "top_k" are one name.
std::string squeezed(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

std::optional<SamplerStage> stage_named(std::string_view given) {
  const std::string name = squeezed(given);
  if (name == "temp") return SamplerStage::kTemperature;
  if (name == "typ" || name == "typicalp") return SamplerStage::kTypicalP;
  if (name == "nucleus") return SamplerStage::kTopP;
  for (const StageName& entry : kStageNames)
    if (name == squeezed(entry.name)) return entry.stage;
  return std::nullopt;
}

}  // namespace

Status validate(const SamplingParams& params) {
  INGOT_TRY(check_cuts(params));
  INGOT_TRY(check_penalties(params));
  return check_lists(params);
}

Status validate(const SamplingParams& params, int64_t vocab) {
  INGOT_TRY(validate(params));
  for (const auto& [id, bias] : params.logit_bias) {
    INGOT_TRY(check_ids("logit_bias", std::span(&id, 1), vocab));
  }
  for (const std::vector<TokenId>& word : params.bad_words) {
    INGOT_TRY(check_ids("bad_words", word, vocab));
  }
  for (const std::vector<TokenId>& word : params.dry_breakers) {
    INGOT_TRY(check_ids("dry_breakers", word, vocab));
  }
  INGOT_TRY(check_ids("allowed_token_ids", params.allowed_token_ids, vocab));
  return check_ids("stop_token_ids", params.stop_token_ids, vocab);
}

bool is_stop(const SamplingParams& params, TokenId id) {
  if (std::ranges::find(params.stop_token_ids, id) != params.stop_token_ids.end()) return true;
  return !params.ignore_eos && std::ranges::find(params.eos_ids, id) != params.eos_ids.end();
}

bool is_greedy(const SamplingParams& params) {
  return params.temperature < kGreedyBelow && params.dynatemp_range == 0;
}

const std::vector<SamplerStage>& default_stages() {
  static const std::vector<SamplerStage> kStages = [] {
    std::vector<SamplerStage> stages;
    stages.reserve(kStageNames.size());
    for (const StageName& entry : kStageNames)
      stages.push_back(entry.stage);
    return stages;
  }();
  return kStages;
}

Result<std::vector<SamplerStage>> parse_stages(std::string_view names) {
  std::vector<SamplerStage> stages;
  while (!names.empty()) {
    const size_t end = std::min(names.find(';'), names.size());
    const std::string_view name = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    if (name.empty()) continue;
    const std::optional<SamplerStage> stage = stage_named(name);
    if (!stage) {
      return Status::invalid_argument("samplers: there is no '{}'; there are {}", name,
                                      to_string(default_stages()));
    }
    stages.push_back(*stage);
  }
  if (stages.empty()) return Status::invalid_argument("samplers: none is named");
  INGOT_TRY(check_count("samplers", stages.size(), kMostStages));
  return stages;
}

Result<std::vector<SamplerStage>> parse_stage_letters(std::string_view letters) {
  std::vector<SamplerStage> stages;
  for (const char letter : letters) {
    const auto* entry = std::ranges::find(kStageNames, letter, &StageName::letter);
    if (entry == kStageNames.end()) {
      return Status::invalid_argument("samplers: there is no '{}'; the letters are edskypmxt",
                                      letter);
    }
    stages.push_back(entry->stage);
  }
  if (stages.empty()) return Status::invalid_argument("samplers: none is named");
  INGOT_TRY(check_count("samplers", stages.size(), kMostStages));
  return stages;
}

std::string to_string(const std::vector<SamplerStage>& stages) {
  std::string text;
  for (const SamplerStage stage : stages) {
    if (!text.empty()) text += ';';
    text += std::ranges::find(kStageNames, stage, &StageName::stage)->name;
  }
  return text;
}

}  // namespace ingot
