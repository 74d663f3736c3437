// SPDX-License-Identifier: Apache-2.0
// A model as tensors to be written: where each comes from, and how its rows are read as floats
// whatever the input keeps them in. Plans hold no weights; rows are read when they are asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint.h"
#include "formats/gguf_key_values.h"
#include "formats/tensor_writer.h"
#include "tensor/tensor_view.h"

namespace ingot {

// What a tensor does in the model; choices of types go by it.
enum class TensorKind : uint8_t {
  kEmbedding,
  kOutput,
  kPositions,
  kQ,
  kK,
  kV,
  kQkv,
  kO,
  kGate,
  kUp,
  kGateUp,
  kDown,
  kNorm,
  kBias,
  kOther,  // rope factors, and what a GGUF file has that we do not know
};
// Multiplied with activations: what quantizing is about. Embeddings are looked up.
bool is_linear(TensorKind kind);

// Plain data; the functions are thread-safe and keep the input open.
struct SourceTensor {
  std::string name;
  Shape shape;
  TensorKind kind = TensorKind::kOther;
  int layer = -1;
  // Of the input: what calibration statistics are kept under ("model.layers.0.mlp.up_proj"; of a
  // fused tensor, its first part). The name without ".weight" where the input is a GGUF file.
  std::string hf_module;
  // Rows [begin, end) of the matrix, leading dimensions folded; a vector is one row.
  std::function<Status(int64_t row_begin, int64_t row_end, std::span<float> out)> read_rows;
  Layout natural = Layout::kF32;  // in the input; kF32 where it is computed or quantized apart
  bool is_quantized = false;      // in the input, whatever the format
  // The bytes as the input has them, when they need no change; else kUnsupported. Who copies them
  // asks Checkpoint::check_intact afterwards; read_rows does so itself.
  std::function<Result<TensorView>()> plain;
  // The GGUF type that holds a quantized input without changing a value, and its bytes.
  std::optional<Layout> exact;
  std::function<Status(int64_t row_begin, int64_t row_end, std::span<std::byte> out)> read_exact;

  int64_t rows() const { return static_cast<int64_t>(TensorView{natural, shape, {}}.rows()); }
  int64_t cols() const { return static_cast<int64_t>(shape.back()); }
};

struct GgufPlan {
  GgufKeyValues values;
  std::vector<SourceTensor> tensors;
  std::vector<std::string> notes;  // for people: what is not as in the input
};

struct SafetensorsPlan {
  std::map<std::string, std::string> metadata;
  std::vector<SourceTensor> tensors;
  std::vector<SideFile> files;
  std::vector<std::string> notes;
  bool is_packed = false;  // weights are codes and scales that only make sense as they are
};

class LoraAdapter;

// Input: safetensors of an architecture that GGUF has (quantized ones too: rows are dequantized),
// or GGUF, whose names and key-values are kept. An adapter is merged into the rows.
Result<GgufPlan> plan_gguf(std::shared_ptr<const Checkpoint> input,
                           std::shared_ptr<const LoraAdapter> adapter = nullptr);
// Input: GGUF (names and config.json of the Hugging Face architecture), or safetensors, which stay
// as they are.
Result<SafetensorsPlan> plan_safetensors(std::shared_ptr<const Checkpoint> input,
                                         std::shared_ptr<const LoraAdapter> adapter = nullptr);

}  // namespace ingot
