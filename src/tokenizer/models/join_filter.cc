// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/join_filter.h"

#include <algorithm>
#include <bit>

namespace ingot::tok {

JoinFilter::JoinFilter(size_t vocab_size) {
  // Vocabularies have about one pair for each token: one bit in eight is set.
  const size_t bits = std::bit_ceil(std::clamp<size_t>(8 * vocab_size, 1U << 10, 1U << 22));
  bits_.assign(bits / 64, 0);
  shift_ = 64 - std::countr_zero(bits);
}

}  // namespace ingot::tok
