// SPDX-License-Identifier: Apache-2.0
// A GGUF v3 file whose tensors are all in memory, written through AtomicFile: set the key-values,
// add the tensors, write. Whole models go through formats/tensor_writer.h.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/gguf_key_values.h"

namespace ingot {

class GgufWriter : public GgufKeyValues {
 public:
  // The tensor's bytes must live until write().
  void add(std::string name, const TensorView& tensor);
  Status write(const std::filesystem::path& path) const;

 private:
  std::vector<TensorEntry> tensors_;
};

}  // namespace ingot
