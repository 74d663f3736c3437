// SPDX-License-Identifier: Apache-2.0
// Where tests find the oracle: checkpoints, tokenizers and templates with answers from Hugging
// Face's own code. A compact set is committed under tests/oracle; the whole one is unpacked to
// build/oracle by tools/unpack_oracle.sh where ../shared/oracle is present.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ingot::testing {

// Folders under `kind` ("models", "tokenizers", "chat") of the committed set, and all of the
// unpacked one, that hold a file named `marker`; each name once, the unpacked one first.
std::vector<std::filesystem::path> oracle_folders(const std::string& kind,
                                                  const std::string& marker);
bool has_full_oracle();

}  // namespace ingot::testing
