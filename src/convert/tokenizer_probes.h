// SPDX-License-Identifier: Apache-2.0
// Texts that tell tokenizers apart: a converted vocabulary must encode them as the original does.
#pragma once

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

Result<bool> encodes_alike(const Tokenizer& original, const Tokenizer& other);

}  // namespace ingot
