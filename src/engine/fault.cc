// SPDX-License-Identifier: Apache-2.0
#include "engine/fault.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace ingot {
namespace {

constexpr std::array<std::pair<std::string_view, Fault::Kind>, 7> kNames = {{
    {"step:hang", Fault::Kind::kStepHang},
    {"step:fail", Fault::Kind::kStepFail},
    {"step:oom", Fault::Kind::kStepOom},
    {"step:lost", Fault::Kind::kStepLost},
    {"logits:nan", Fault::Kind::kNanLogits},
    {"cuda:oom", Fault::Kind::kCudaOom},
    {"cuda:sticky", Fault::Kind::kCudaSticky},
}};

}  // namespace

Result<Fault> parse_fault(std::string_view text) {
  Fault fault;
  if (text.empty()) return fault;
  const size_t split = text.find('@');
  for (const auto& [name, kind] : kNames)
    if (text.substr(0, split) == name) fault.kind = kind;
  const std::string_view number =
      split == std::string_view::npos ? std::string_view() : text.substr(split + 1);
  const char* end = number.data() + number.size();
  const auto [stop, problem] = std::from_chars(number.data(), end, fault.at);
  if (fault.kind == Fault::Kind::kNone || problem != std::errc() || stop != end || fault.at < 1) {
    std::string names;
    for (const auto& [name, kind] : kNames)
      names += fmt::format("{}{}@N", names.empty() ? "" : ", ", name);
    return Status::invalid_argument("the fault '{}' is not one of {} with N from 1", text, names);
  }
  return fault;
}

}  // namespace ingot
