// SPDX-License-Identifier: Apache-2.0
// Where each weight of the decoder comes from: names in the checkpoint, with row ranges where a
// file fuses or interleaves several matrices. Filled by the mappers, obeyed by the binder (bind.h).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ingot {

struct RowRange {
  int64_t begin;
  int64_t end;
  bool operator==(const RowRange&) const = default;
};

// One tensor, or some of its rows in this order. A single range stays a view; several are gathered.
struct TensorPart {
  std::string name;
  std::vector<RowRange> rows;  // empty: all
  bool is_transposed =
      false;  // stored [in, out] (GPT-2's Conv1D); row ranges count after transposing
  bool operator==(const TensorPart&) const = default;
};

// The parts stacked along rows; no parts: the weight does not exist in this model. Vectors (norms,
// biases) use the same: their "rows" are their elements.
struct TensorSource {
  std::vector<TensorPart> parts;
  bool is_optional = false;  // used when the checkpoint has it

  TensorSource() = default;
  static TensorSource named(std::string name) { return from_part({std::move(name), {}, false}); }
  static TensorSource optional(std::string name) {
    TensorSource source = named(std::move(name));
    source.is_optional = true;
    return source;
  }
  static TensorSource from_part(TensorPart part) {
    TensorSource source;
    source.parts.push_back(std::move(part));
    return source;
  }
  bool exists() const { return !parts.empty(); }
  bool operator==(const TensorSource&) const = default;
};

struct LinearSource {
  TensorSource weight;
  TensorSource bias;
  bool operator==(const LinearSource&) const = default;
};

struct NormSource {
  TensorSource weight;
  TensorSource bias;
  bool operator==(const NormSource&) const = default;
};

struct LayerSources {
  NormSource mixer_norm;
  NormSource mixer_post_norm;
  LinearSource q;
  LinearSource k;
  LinearSource v;
  LinearSource o;
  NormSource q_norm;
  NormSource k_norm;
  TensorSource sinks;
  NormSource ffn_norm;
  NormSource ffn_post_norm;
  LinearSource gate;
  LinearSource up;
  LinearSource down;
  bool operator==(const LayerSources&) const = default;
};

// Checkpoints of one family differ in how names begin: GPT-2 stands on the hub without
// "transformer.", GPT-NeoX's embed_out is also called lm_head.
struct PrefixAlias {
  std::string prefix;
  std::string alternative;
  bool operator==(const PrefixAlias&) const = default;
};

struct WeightMap {
  TensorSource embedding;
  TensorSource position_embedding;
  NormSource embedding_norm;
  LinearSource embedding_in;  // OPT-350m's projections
  LinearSource embedding_out;
  NormSource final_norm;
  LinearSource output;
  // GGUF keeps rope divisors as tensors: rope_freqs / rope_factors_short -> short,
  // rope_factors_long.
  TensorSource rope_short_factors;
  TensorSource rope_long_factors;
  std::vector<LayerSources> layers;
  std::vector<PrefixAlias> aliases;

  // The names a tensor may have in the file, in the order to look for them: `name`, then with each
  // alias whose prefix it begins with. A tensor is absent when none of them is there.
  std::vector<std::string> spellings(const std::string& name) const;
  bool operator==(const WeightMap&) const = default;
};

// Every source that exists, optional ones too.
void for_each_source(WeightMap& weights, const std::function<void(TensorSource&)>& visit);
void for_each_source(const WeightMap& weights,
                     const std::function<void(const TensorSource&)>& visit);

}  // namespace ingot
