// SPDX-License-Identifier: Apache-2.0
// A ModelSpec as the key-values of a GGUF file. GGUF leaves much to the architecture's name; keys
// for such things are written only where a model differs from what its name implies, which is found
// by reading the keys back (compare_specs).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf_key_values.h"
#include "model/spec.h"

namespace ingot {

// What a first try may leave out.
enum class GgufExtra : uint8_t { kWindowPattern, kRopePattern, kAttentionScale };

void set_model_keys(const ModelSpec& spec, std::string_view architecture,
                    const std::set<GgufExtra>& extras, GgufKeyValues& values);

// Divisors of the rope's frequencies that GGUF keeps as a tensor (Llama 3's stretch); else empty.
std::vector<float> rope_divisors(const RopeSpec& rope);

struct SpecDifference {
  std::string what;                 // as people call it
  std::optional<GgufExtra> remedy;  // the key that says it
};
// The first thing in which the model that was read back differs; nothing when it computes the same.
// Row orders, folded norms and token ids are not compared.
std::optional<SpecDifference> compare_specs(const ModelSpec& wanted, const ModelSpec& found);

}  // namespace ingot
