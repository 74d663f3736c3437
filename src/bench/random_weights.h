// SPDX-License-Identifier: Apache-2.0
// Random weights in the form in which files have them: the mixtures of GGUF, and formats whose
// scales lie apart. Speed does not depend on the values, so a few random rows are repeated; they
// deviate by about one over the root of the columns, which keeps all hidden states in range.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "base/status.h"
#include "model/generate.h"
#include "quant/mixture.h"

namespace ingot {

struct ApartFormat;  // one whose codes and scales lie apart

// Plain data; either of the two.
struct RandomFormat {
  std::string name;                  // "q4_k_m"
  const Mixture* mixture = nullptr;  // or null
  const ApartFormat* apart = nullptr;
};
// By the name of a mixture, or one of fp8, fp8_block, int8, gptq, awq and nf4, in any case.
Result<RandomFormat> parse_random_format(std::string_view name);
// All names, for messages.
std::string random_format_names();

// Single thread.
class RandomWeights final : public WeightGenerator {
 public:
  RandomWeights(ModelSpec spec, RandomFormat format)
      : spec_(std::move(spec)), format_(std::move(format)) {}
  const ModelSpec& spec() const override { return spec_; }
  uint64_t size_bytes(const WantedWeight& wanted) const override;
  const GeneratedWeight& weight(const WantedWeight& wanted) override;

 private:
  // Whether its scales lie apart; else its layout is layout_of().
  bool is_apart(const WantedWeight& wanted) const;
  Layout layout_of(const WantedWeight& wanted) const;

  ModelSpec spec_;
  RandomFormat format_;
  using Key = std::tuple<bool, Layout, int64_t, int64_t>;  // apart, layout, rows, columns
  std::map<Key, GeneratedWeight> made_;
};

}  // namespace ingot
