// SPDX-License-Identifier: Apache-2.0
// What makes an answer a good one, in milliseconds: goodput counts those that keep every bound.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "bench/serve_record.h"

namespace ingot {

struct ServeSlo {
  std::optional<double> ttft_ms = {};  // to the first token
  std::optional<double> tpot_ms = {};  // per token after it
  std::optional<double> e2el_ms = {};  // to the end

  bool is_empty() const { return !ttft_ms && !tpot_ms && !e2el_ms; }
  bool is_met(const ServeRecord& record) const;
  std::string to_string() const;
};

// "ttft:500" "tpot:50" "e2el:10000", each at most once.
Result<ServeSlo> parse_slo(std::span<const std::string> bounds);

}  // namespace ingot
