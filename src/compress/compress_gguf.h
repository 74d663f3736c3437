// SPDX-License-Identifier: Apache-2.0
// From any checkpoint to a quantized GGUF file: rows are read as floats, encoded by all threads and
// written, a few megabytes at a time. With calibration samples the types that can are rounded with
// error feedback, layer by layer (gguf_feedback.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "calibrate/importance.h"
#include "compress/gguf_types.h"
#include "convert/source_tensor.h"
#include "formats/checkpoint.h"
#include "ingot/sampling.h"

namespace ingot {

struct GgufCompressOptions {
  GgufTypeOptions types;
  const ImportanceMatrix* importance = nullptr;  // by the input's modules, or by GGUF's names
  std::string importance_name;                   // where it comes from, for the file's keys
  std::vector<std::vector<TokenId>> samples;     // for error feedback; empty: without
  uint64_t split_bytes = 0;
  bool overwrites = false;
  int threads = 0;
  std::function<void(std::string_view what, double fraction)> progress;
};

struct GgufCompressReport {
  uint64_t bytes = 0;
  double bits_per_weight = 0;  // of all matrices
  bool was_resumed = false;
  bool was_quantized = false;  // the input was
  int fed_back = 0;            // tensors that were rounded with error feedback, in this run
  std::map<std::string, int> tensors_by_type;
  std::vector<std::string> notes;
};

Result<GgufCompressReport> compress_gguf(std::shared_ptr<const Checkpoint> input,
                                         const std::filesystem::path& path,
                                         const GgufCompressOptions& options);

// What is known of a tensor's columns; empty where nothing is.
Result<std::span<const float>> importance_of(const ImportanceMatrix* importance,
                                             const SourceTensor& tensor);
// How much errors of each column count in a type: its importance where there are few bits, else the
// root of it. Found by trying on one small model; docs/quantization.md says on what.
std::vector<float> error_weights(std::span<const float> importance, Layout layout);
// Rows of `source` as they are in `layout`, by all threads.
Status encode_rows(const SourceTensor& source, Layout layout, std::span<const float> importance,
                   int64_t row_begin, int64_t row_end, std::span<std::byte> out, const Exec& exec);

}  // namespace ingot
