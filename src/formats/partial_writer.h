// SPDX-License-Identifier: Apache-2.0
// The TensorWriter of every container: files whose heads and sizes are known, tensors that have a
// place in one of them. What differs between containers is only the plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/tensor_writer.h"

namespace ingot {

struct OutputFile {
  std::string name;
  std::string head;
  uint64_t size_bytes = 0;
};

struct OutputTensor {
  size_t file = 0;
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  Layout layout = Layout::kF32;
  Shape shape;
};

struct OutputPlan {
  std::filesystem::path output;  // the folder, or the file (of several, the first)
  bool is_folder = false;        // else the files go beside each other into output's folder
  std::vector<OutputFile> files;
  std::vector<OutputTensor> tensors;
  std::vector<SideFile> side_files;  // folders only
};

Result<std::unique_ptr<TensorWriter>> open_partial_writer(OutputPlan plan,
                                                          const WriterOptions& options);

}  // namespace ingot
