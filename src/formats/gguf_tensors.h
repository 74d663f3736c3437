// SPDX-License-Identifier: Apache-2.0
// The tensor records of a GGUF file and the data they point at: gguf.cc calls this after the
// key-values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_reader.h"
#include "base/status.h"
#include "formats/tensor_entry.h"

namespace ingot {

// `reader` stands at the first of `count` records, and `count` fits into what is left. On success
// every entry's bytes lie inside `file`, none overlap, and no name stands twice.
Result<std::vector<TensorEntry>> read_gguf_tensors(ByteReader& reader,
                                                   std::span<const std::byte> file, uint64_t count,
                                                   uint32_t alignment);

}  // namespace ingot
