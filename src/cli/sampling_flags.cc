// SPDX-License-Identifier: Apache-2.0
#include "cli/sampling_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <variant>

namespace ingot {
namespace {

using Member =
    std::variant<float SamplingParams::*, int32_t SamplingParams::*, uint64_t SamplingParams::*>;

struct Field {
  std::string_view name;
  std::string_view other;  // a second name, or empty
  const char* help;
  Member member;
};

constexpr std::array<Field, 9> kFields = {{
    {"temp", "temperature", "0: always the most likely token; higher: more surprising",
     &SamplingParams::temperature},
    {"top-k", "", "Choose among the K most likely tokens (0: all)", &SamplingParams::top_k},
    {"top-p", "", "... among the most likely that make up this probability (1: all)",
     &SamplingParams::top_p},
    {"min-p", "", "... among those at least this share of the best (0: all)",
     &SamplingParams::min_p},
    {"repeat-penalty", "repetition-penalty", "Above 1: recent tokens become less likely",
     &SamplingParams::repetition_penalty},
    {"repeat-last-n", "", "Tokens the penalties look back on (-1: all)",
     &SamplingParams::repeat_last_n},
    {"presence-penalty", "", "Subtracted from tokens that occurred",
     &SamplingParams::presence_penalty},
    {"frequency-penalty", "", "The same, for each time they occurred",
     &SamplingParams::frequency_penalty},
    {"seed", "", "Same seed, same answer (default: a new one each time)", &SamplingParams::seed},
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

std::string check_value(const Field& field, const std::string& value) {
  SamplingParams probe;
  return set_sampling(probe, field.name, value).message();
}

}  // namespace

Status set_sampling(SamplingParams& params, std::string_view name, std::string_view value) {
  const Field* field = find_field(name);
  if (field == nullptr) return Status::invalid_argument("there is no parameter '{}'", name);
  SamplingParams changed = params;
  const bool is_number = std::visit(
      [&](auto member) {
        auto& target = changed.*member;
        const char* end = value.data() + value.size();
        const auto [stop, error] = std::from_chars(value.data(), end, target);
        return error == std::errc() && stop == end;
      },
      field->member);
  if (!is_number)
    return Status::invalid_argument("{}: '{}' is not a number in its range", field->name, value);
  INGOT_TRY(validate(changed));
  params = changed;
  return Status::ok();
}

std::vector<std::pair<std::string, std::string>> list_sampling(const SamplingParams& params) {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Field& field : kFields) {
    list.emplace_back(
        field.name,
        std::visit([&](auto member) { return fmt::format("{}", params.*member); }, field.member));
  }
  return list;
}

void add_sampling_flags(CLI::App& command, SamplingFlags& flags) {
  for (const Field& field : kFields) {
    std::string names = fmt::format("--{}", field.name);
    if (!field.other.empty()) names += fmt::format(",--{}", field.other);
    command
        .add_option_function<std::string>(
            names,
            [&flags, name = std::string(field.name)](const std::string& value) {
              flags.given.emplace_back(name, value);
            },
            field.help)
        ->check([&field](const std::string& value) { return check_value(field, value); })
        ->type_name("N")
        ->group("Sampling (defaults are the model's own)");
  }
}

Result<SamplingParams> sampling_of(const SamplingFlags& flags, const SamplingParams& defaults) {
  SamplingParams params = defaults;
  params.seed = std::random_device{}();
  for (const auto& [name, value] : flags.given)
    INGOT_TRY(set_sampling(params, name, value));
  return params;
}

}  // namespace ingot
