// SPDX-License-Identifier: Apache-2.0
// Lengths as a benchmark's flags give them: one number, a range or a list to draw from. Drawing is
// a pure function of seed and counter, so the same flags make the same workload everywhere.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

// Drawn from evenly: [low, high], or `choices` where there are some. Immutable once parsed.
struct Lengths {
  int64_t low = 0;
  int64_t high = 0;
  std::vector<int64_t> choices;

  int64_t draw(uint64_t seed, uint64_t counter) const;
  std::string to_string() const;  // as it was written
};

// "128", "128:512" or "64,128,256", none below `smallest`. `field` is for the message.
Result<Lengths> parse_lengths(std::string_view text, std::string_view field, int64_t smallest);
// "1,2,4,8".
Result<std::vector<int64_t>> parse_numbers(std::string_view text, std::string_view field,
                                           int64_t smallest);

}  // namespace ingot
