// SPDX-License-Identifier: Apache-2.0
// A GGUF file's vocabulary as tokenizer.json and tokenizer_config.json. What was made is read back
// and must encode as the file's own tokenizer does; else there is none, and a note says so.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf.h"
#include "formats/tensor_writer.h"

namespace ingot {

Status add_tokenizer_files(const GgufMetadata& metadata, std::vector<SideFile>& files,
                           std::vector<std::string>& notes);

}  // namespace ingot
