// SPDX-License-Identifier: Apache-2.0
// A low-rank adapter: for some of a model's matrices a product B A that is added to the weight.
// Read from a PEFT folder (adapter_config.json, adapter_model.safetensors) or a GGUF adapter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/checkpoint.h"

namespace ingot {

// Immutable; thread-safe.
class LoraAdapter {
 public:
  // `scale` multiplies the adapter's own (alpha / rank).
  static Result<std::shared_ptr<const LoraAdapter>> open(const std::filesystem::path& path,
                                                         double scale);
  // Modules as the model names them ("model.layers.0.self_attn.q_proj"; of GGUF "blk.0.attn_q").
  bool has(std::string_view module) const { return pairs_.find(module) != pairs_.end(); }
  // Adds its share of one row of the stored matrix; a module that it does not change stays.
  Status add(std::string_view module, int64_t row, std::span<float> values) const;
  std::vector<std::string> modules() const;
  bool is_gguf() const { return is_gguf_; }
  const std::string& name() const { return name_; }

 private:
  struct Pair {
    int64_t rank = 0;
    int64_t in = 0;
    int64_t out = 0;
    std::vector<float> a;  // [rank, in]
    std::vector<float> b;  // [out, rank], scaled
  };
  LoraAdapter() = default;
  Status read_peft(const Checkpoint& checkpoint, double scale);
  Status read_gguf(const Checkpoint& checkpoint, double scale);
  Status add_pair(const std::string& module, const TensorView& a, const TensorView& b,
                  double scale);

  std::map<std::string, Pair, std::less<>> pairs_;
  std::string name_;
  bool is_gguf_ = false;
};

}  // namespace ingot
