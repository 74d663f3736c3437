// SPDX-License-Identifier: Apache-2.0
// Which type each tensor of a plan gets, and the loop that writes them: a few megabytes of rows at
// a time, whatever the size of a tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "convert/source_tensor.h"
#include "formats/tensor_writer.h"

namespace ingot {

// Told after every piece how many bytes of the output are done.
using WriteProgress = std::function<void(uint64_t bytes)>;

struct CastChoice {
  std::vector<PlannedTensor> tensors;  // as they will be written
  bool is_lossy = false;               // some values will be rounded
  std::vector<std::string> widened;    // quantized tensors that no type of the output holds: F32
  uint64_t size_bytes = 0;
};

// Nothing: every tensor keeps its type, or gets one that holds it exactly.
// In GGUF vectors are always F32, as its readers want them.
CastChoice choose_casts(std::span<const SourceTensor> tensors, std::optional<Layout> wanted,
                        bool is_gguf);

// Rows as floats, encoded; bytes of the input where they serve as they are.
Status write_tensor(const SourceTensor& source, const PlannedTensor& planned, size_t index,
                    TensorWriter& writer, const WriteProgress& progress);
// Every tensor that is not done yet. Does not commit.
Status write_tensors(std::span<const SourceTensor> sources, const CastChoice& choice,
                     TensorWriter& writer, const WriteProgress& progress);

// general.file_type of a GGUF file of mostly this type.
void set_file_type(const CastChoice& choice, GgufKeyValues& values);

}  // namespace ingot
