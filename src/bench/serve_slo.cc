// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_slo.h"

#include <charconv>
#include <cmath>

namespace ingot {
namespace {

bool is_within(const std::optional<double>& bound_ms, double seconds) {
  return !bound_ms || seconds * 1e3 <= *bound_ms;
}

}  // namespace

bool ServeSlo::is_met(const ServeRecord& record) const {
  return record.outcome == ServeOutcome::kOk && is_within(ttft_ms, record.first) &&
         is_within(tpot_ms, record.per_token()) && is_within(e2el_ms, record.last);
}

std::string ServeSlo::to_string() const {
  std::string text;
  const auto add = [&](const char* name, const std::optional<double>& bound_ms) {
    if (bound_ms) text += fmt::format("{}{}:{:g}", text.empty() ? "" : " ", name, *bound_ms);
  };
  add("ttft", ttft_ms);
  add("tpot", tpot_ms);
  add("e2el", e2el_ms);
  return text;
}

Result<ServeSlo> parse_slo(std::span<const std::string> bounds) {
  ServeSlo slo;
  for (const std::string& bound : bounds) {
    const size_t colon = std::min(bound.find(':'), bound.size());
    const std::string_view name = std::string_view(bound).substr(0, colon);
    std::optional<double>* place = name == "ttft"   ? &slo.ttft_ms
                                   : name == "tpot" ? &slo.tpot_ms
                                   : name == "e2el" ? &slo.e2el_ms
                                                    : nullptr;
    double value = 0;
    const char* end = bound.data() + bound.size();
    const auto [stop, problem] =
        std::from_chars(bound.data() + std::min(colon + 1, bound.size()), end, value);
    const bool is_number =
        problem == std::errc() && stop == end && std::isfinite(value) && value >= 0;
    if (place == nullptr || !is_number) {
      return Status::invalid_argument(
          "--goodput: '{}' is not ttft:MS, tpot:MS or e2el:MS (milliseconds)", bound);
    }
    if (*place) return Status::invalid_argument("--goodput: {} is given twice", name);
    *place = value;
  }
  return slo;
}

}  // namespace ingot
