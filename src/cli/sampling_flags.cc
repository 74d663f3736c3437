// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <variant>

#include "api/token_sequences.h"

namespace ingot {
namespace {

using Params = SamplingParams;
using Member = std::variant<float Params::*, int32_t Params::*, uint64_t Params::*, bool Params::*>;

constexpr const char* kMain = "Sampling (defaults are the model's own)";
constexpr const char* kRepeats = "Sampling: against repetition";
constexpr const char* kMore = "Sampling: more";

struct Field {
  std::string_view name;
  std::string_view other;  // a second name, or empty
  const char* group;
  const char* help;
  Member member;
};

constexpr std::array<Field, 24> kFields = {{
    {"temp", "temperature", kMain, "0: always the most likely token; higher: more surprising",
     &Params::temperature},
    {"top-k", "", kMain, "Choose among the K most likely tokens (0: all)", &Params::top_k},
    {"top-p", "", kMain, "... among the most likely that make up this probability (1: all)",
     &Params::top_p},
    {"min-p", "", kMain, "... among those at least this share of the best (0: all)",
     &Params::min_p},
    {"seed", "", kMain, "Same seed, same answer (default: a new one each time)", &Params::seed},
    {"repeat-penalty", "repetition-penalty", kRepeats, "Above 1: recent tokens become less likely",
     &Params::repetition_penalty},
    {"repeat-last-n", "", kRepeats, "Tokens the penalties look back on (-1: all)",
     &Params::repeat_last_n},
    {"presence-penalty", "", kRepeats, "Subtracted from tokens that occurred",
     &Params::presence_penalty},
    {"frequency-penalty", "", kRepeats, "The same, for each time they occurred",
     &Params::frequency_penalty},
    {"penalize-prompt", "", kRepeats, "0: presence and frequency count the answer alone",
     &Params::penalize_prompt},
    {"dry-multiplier", "", kRepeats, "DRY: penalty for going on with a repeat (0: off)",
     &Params::dry_multiplier},
    {"dry-base", "", kRepeats, "DRY: growth of the penalty with each repeated token",
     &Params::dry_base},
    {"dry-allowed-length", "", kRepeats, "DRY: repeats up to this length are free",
     &Params::dry_allowed_length},
    {"dry-penalty-last-n", "", kRepeats, "DRY: tokens searched for repeats (-1: all)",
     &Params::dry_penalty_last_n},
    {"typical", "typical-p", kMore, "Keep the tokens nearest to the expected surprise (1: all)",
     &Params::typical_p},
    {"top-nsigma", "top-n-sigma", kMore, "Keep logits within N deviations of the best (-1: all)",
     &Params::top_n_sigma},
    {"xtc-probability", "", kMore, "XTC: how often the most likely tokens are taken away (0: off)",
     &Params::xtc_probability},
    {"xtc-threshold", "", kMore, "XTC: tokens of this probability are taken, but for the last",
     &Params::xtc_threshold},
    {"dynatemp-range", "", kMore, "Temperature moves by this with the entropy (0: off)",
     &Params::dynatemp_range},
    {"dynatemp-exp", "dynatemp-exponent", kMore, "How entropy becomes temperature",
     &Params::dynatemp_exponent},
    {"mirostat", "", kMore, "2: mirostat 2 in place of the cuts (0: off)", &Params::mirostat},
    {"mirostat-ent", "mirostat-tau", kMore, "Mirostat: surprise aimed at, in bits",
     &Params::mirostat_tau},
    {"mirostat-lr", "mirostat-eta", kMore, "Mirostat: learning rate", &Params::mirostat_eta},
    {"min-tokens", "", kMore, "No end before so many tokens", &Params::min_tokens},
}};

std::string with_dashes(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

const Field* find_field(std::string_view name) {
  const std::string wanted = with_dashes(name);
  const auto* found = std::ranges::find_if(kFields, [&](const Field& field) {
    return wanted == field.name || (!field.other.empty() && wanted == field.other);
  });
  return found == kFields.end() ? nullptr : found;
}

// Values that are not one number. Each adds to or replaces a list.
struct ListField {
  std::string_view name;
  std::string_view other;
  const char* type;
  const char* help;
  Status (*set)(Params& params, std::string_view value);
};

bool parse_number(std::string_view text, auto& out) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && stop == text.data() + text.size();
}

bool parse_number(std::string_view text, bool& out) {
  out = text == "1" || text == "true" || text == "on";
  return out || text == "0" || text == "false" || text == "off";
}

Status add_bias(Params& params, std::string_view value) {
  const size_t sign = value.find_first_of("+-", 1);
  TokenId id = 0;
  float bias = 0;
  const bool is_good = sign != std::string_view::npos && parse_number(value.substr(0, sign), id) &&
                       parse_number(value.substr(sign + 1), bias);
  if (!is_good || id < 0)
    return Status::invalid_argument("'{}' is not like 15043+1 or 15043-inf", value);
  params.logit_bias.emplace_back(id, value[sign] == '-' ? -bias : bias);
  return Status::ok();
}

Status add_ids(std::vector<TokenId>& ids, std::string_view value) {
  while (!value.empty()) {
    const size_t end = std::min(value.find(','), value.size());
    TokenId id = 0;
    if (!parse_number(value.substr(0, end), id) || id < 0)
      return Status::invalid_argument("'{}' is not a list of token ids like 5,17", value);
    ids.push_back(id);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return Status::ok();
}

constexpr std::array<ListField, 5> kLists = {{
    {"samplers", "", "A;B", "The stages, in order (docs/sampling.md)",
     [](Params& params, std::string_view value) {
       INGOT_TRY(params.stages, parse_stages(value));
       return Status::ok();
     }},
    {"sampling-seq", "sampler-seq", "LETTERS", "The same in letters: edskypmxt",
     [](Params& params, std::string_view value) {
       INGOT_TRY(params.stages, parse_stage_letters(value));
       return Status::ok();
     }},
    {"logit-bias", "", "ID+BIAS", "Add to a token's logit: 15043+1, 15043-1.5, 15043-inf",
     add_bias},
    {"stop-token-ids", "", "ID,ID", "Tokens that end the answer",
     [](Params& params, std::string_view value) { return add_ids(params.stop_token_ids, value); }},
    {"allowed-token-ids", "", "ID,ID", "The only tokens that may be chosen",
     [](Params& params, std::string_view value) {
       return add_ids(params.allowed_token_ids, value);
     }},
}};

const ListField* find_list(std::string_view name) {
  const std::string wanted = with_dashes(name);
  const auto* found = std::ranges::find_if(kLists, [&](const ListField& field) {
    return wanted == field.name || (!field.other.empty() && wanted == field.other);
  });
  return found == kLists.end() ? nullptr : found;
}

Status set_number(Params& params, const Field& field, std::string_view value) {
  const bool is_number =
      std::visit([&](auto member) { return parse_number(value, params.*member); }, field.member);
  if (is_number) return Status::ok();
  return Status::invalid_argument("{}: '{}' is not a number in its range", field.name, value);
}

std::string check_value(std::string_view name, const std::string& value) {
  Params probe;
  return set_sampling(probe, name, value).message();
}

CLI::Option* add_flag(CLI::App& command, SamplingFlags& flags, std::string_view name,
                      std::string_view other, const char* help) {
  std::string names = fmt::format("--{}", name);
  if (!other.empty()) names += fmt::format(",--{}", other);
  return command
      .add_option_function<std::vector<std::string>>(
          names,
          [&flags, key = std::string(name)](const std::vector<std::string>& values) {
            for (const std::string& value : values)
              flags.given.emplace_back(key, value);
          },
          help)
      ->check(
          [key = std::string(name)](const std::string& value) { return check_value(key, value); })
      ->expected(1)
      ->allow_extra_args(false);
}

// llama.cpp's, unless others are given.
Status set_breakers(const SamplingFlags& flags, const Tokenizer* tokenizer, Params& params) {
  if (params.dry_multiplier == 0) return Status::ok();
  std::vector<std::string> breakers = flags.dry_breakers;
  if (breakers.empty()) breakers = {"\n", ":", "\"", "*"};
  if (breakers.size() == 1 && breakers.front() == "none") return Status::ok();
  if (tokenizer == nullptr)
    return Status::invalid_argument("--dry-sequence-breaker needs a tokenizer; 'none' does not");
  INGOT_TRY(params.dry_breakers, breaker_ids(*tokenizer, breakers));
  return Status::ok();
}

}  // namespace

Status set_sampling(SamplingParams& params, std::string_view name, std::string_view value) {
  SamplingParams changed = params;
  if (const Field* field = find_field(name); field != nullptr) {
    INGOT_TRY(set_number(changed, *field, value));
  } else if (const ListField* list = find_list(name); list != nullptr) {
    if (const Status status = list->set(changed, value); !status.is_ok())
      return status.with_context(list->name);
  } else {
    return Status::invalid_argument("there is no parameter '{}'", name);
  }
  INGOT_TRY(validate(changed));
  params = std::move(changed);
  return Status::ok();
}

std::vector<std::pair<std::string, std::string>> list_sampling(const SamplingParams& params) {
  std::vector<std::pair<std::string, std::string>> list;
  list.reserve(kFields.size() + 1);
  for (const Field& field : kFields) {
    list.emplace_back(
        field.name,
        std::visit([&](auto member) { return fmt::format("{}", params.*member); }, field.member));
  }
  list.emplace_back("samplers",
                    to_string(params.stages.empty() ? default_stages() : params.stages));
  return list;
}

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  for (const Field& field : kFields) {
    add_flag(command, flags, field.name, field.other, field.help)
        ->type_name("N")
        ->group(field.group)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  for (const ListField& field : kLists) {
    add_flag(command, flags, field.name, field.other, field.help)
        ->type_name(field.type)
        ->group(kMore)
        ->take_all();
  }
  command
      .add_option("--dry-sequence-breaker", flags.dry_breakers,
                  "DRY: repeats do not reach across this text; 'none' for none")
      ->type_name("STR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(kRepeats);
  command.add_option("--bad-word", flags.bad_words, "Text never to generate (several times)")
      ->type_name("STR")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->group(kMore);
}

Result<SamplingParams> sampling_of(const SamplingFlags& flags, const SamplingParams& defaults,
                                   const Tokenizer* tokenizer) {
  SamplingParams params = defaults;
  params.seed = std::random_device{}();
  for (const auto& [name, value] : flags.given) {
    INGOT_TRY(set_sampling(params, name, value));
  }
  INGOT_TRY(set_breakers(flags, tokenizer, params));
  if (!flags.bad_words.empty()) {
    if (tokenizer == nullptr) return Status::invalid_argument("--bad-word needs a tokenizer");
    INGOT_TRY(params.bad_words, bad_word_ids(*tokenizer, flags.bad_words));
  }
  return params;
}

}  // namespace ingot
