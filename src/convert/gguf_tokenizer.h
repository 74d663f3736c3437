// SPDX-License-Identifier: Apache-2.0
// A model folder's tokenizer and chat template as keys of a GGUF file. What was written is read
// back and must encode a set of probing texts as the original does; where no kind of GGUF
// vocabulary does, tokenizer.json goes into the file whole.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf_key_values.h"

namespace ingot {

// Tokens are padded to `vocab`, the rows of the embedding. A folder without a tokenizer gives a
// file without one, and a note.
Status set_tokenizer_keys(const std::filesystem::path& folder, int64_t vocab, GgufKeyValues& values,
                          std::vector<std::string>& notes);

}  // namespace ingot
