// SPDX-License-Identifier: Apache-2.0
#include "quant/mixture.h"

#include <algorithm>
#include <array>

#include "blocks/layout.h"
#include "quant/mixture_rules.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

constexpr Mixture kMixtures[] = {
    {"Q1_0", 40, Layout::kQ1_0, 1.70, "signs only, for models trained so"},
    {"IQ1_S", 24, Layout::kIQ1_S, 2.00, "the smallest; wants importance, answers suffer visibly"},
    {"IQ1_M", 31, Layout::kIQ1_M, 2.15, "a little more than IQ1_S; wants importance"},
    {"TQ1_0", 36, Layout::kTQ1_0, 2.19, "ternary, packed tightly, for models trained so"},
    {"IQ2_XXS", 19, Layout::kIQ2_XXS, 2.38, "two bits from a table; wants importance"},
    {"TQ2_0", 37, Layout::kTQ2_0, 2.52, "ternary, faster than TQ1_0, for models trained so"},
    {"IQ2_XS", 20, Layout::kIQ2_XS, 2.59, "two bits from a larger table; wants importance"},
    {"Q2_0", 41, Layout::kQ2_0, 2.68, "four levels under one scale, for models trained so"},
    {"IQ2_S", 28, Layout::kIQ2_XS, 2.74, "IQ2_XS with more bits where it hurts; wants importance"},
    {"IQ2_M", 29, Layout::kIQ2_S, 2.93, "the best below three bits; wants importance"},
    {"Q2_K_S", 21, Layout::kQ2_K, 2.97, "two bits almost everywhere; wants importance"},
    {"Q2_K", 10, Layout::kQ2_K, 3.16, "two bits, three where it hurts"},
    {"IQ3_XXS", 23, Layout::kIQ3_XXS, 3.25, "three bits from a table; wants importance"},
    {"IQ3_XS", 22, Layout::kIQ3_S, 3.50, "between IQ3_XXS and IQ3_S; wants importance"},
    {"Q3_K_S", 11, Layout::kQ3_K, 3.64, "three bits everywhere"},
    {"IQ3_S", 26, Layout::kIQ3_S, 3.66, "three bits from a larger table; better than Q3_K_S"},
    {"IQ3_M", 27, Layout::kIQ3_S, 3.76, "IQ3_S with more bits where it hurts"},
    {"Q3_K_M", 12, Layout::kQ3_K, 4.00, "three bits, four where it hurts"},
    {"Q3_K_L", 13, Layout::kQ3_K, 4.30, "three bits, five where it hurts"},
    {"IQ4_XS", 30, Layout::kIQ4_XS, 4.46, "uneven four-bit levels; smaller than Q4_K_S"},
    {"Q4_0", 2, Layout::kQ4_0, 4.63, "the oldest four bits; fast, less exact than Q4_K"},
    {"Q4_K_S", 14, Layout::kQ4_K, 4.67, "four bits almost everywhere"},
    {"IQ4_NL", 25, Layout::kIQ4_NL, 4.68, "uneven four-bit levels in blocks of 32"},
    {"MXFP4", 38, Layout::kMXFP4, 4.81, "four-bit floats under powers of two; the rest Q8_0"},
    {"Q4_K_M", 15, Layout::kQ4_K, 4.89, "four bits, six where it hurts: the usual choice"},
    {"NVFP4", 39, Layout::kNVFP4, 5.02, "four-bit floats under eight-bit floats; the rest Q8_0"},
    {"Q4_1", 3, Layout::kQ4_1, 5.10, "four bits with a minimum, blocks of 32"},
    {"Q5_0", 8, Layout::kQ5_0, 5.57, "five bits, blocks of 32"},
    {"Q5_K_S", 16, Layout::kQ5_K, 5.57, "five bits everywhere"},
    {"Q5_K_M", 17, Layout::kQ5_K, 5.70,
     "five bits, six where it hurts: hard to tell from the original"},
    {"Q5_1", 9, Layout::kQ5_1, 6.04, "five bits with a minimum, blocks of 32"},
    {"Q6_K", 18, Layout::kQ6_K, 6.56, "six bits: almost no loss"},
    {"Q8_0", 7, Layout::kQ8_0, 8.50, "eight bits: no loss that can be measured"},
    {"F16", 1, Layout::kF16, 16.0, "fp16, no blocks"},
    {"BF16", 32, Layout::kBF16, 16.0, "bf16, no blocks"},
    {"F32", 0, Layout::kF32, 32.0, "fp32, no blocks"},
};

struct Alias {
  std::string_view name;
  std::string_view means;
};
constexpr Alias kAliases[] = {
    {"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}, {"MXFP4_MOE", "MXFP4"}};

bool equal_in_any_case(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
  return std::ranges::equal(a, b, {}, upper, upper);
}

bool has_whole_blocks(Layout layout, int64_t cols) {
  return cols % static_cast<int64_t>(info(layout).block_elements) == 0;
}

// Of about the same size or a little larger, in blocks of 32.
Layout of_smaller_blocks(Layout layout) {
  switch (layout) {
    case Layout::kQ6_K:
      return Layout::kQ8_0;
    case Layout::kQ5_K:
      return Layout::kQ5_1;
    case Layout::kQ4_K:
      return Layout::kQ5_0;
    case Layout::kQ2_K:
    case Layout::kQ3_K:
    case Layout::kTQ1_0:
    case Layout::kTQ2_0:
    case Layout::kQ1_0:
    case Layout::kQ2_0:
      return Layout::kQ4_0;
    default:
      return Layout::kIQ4_NL;
  }
}

}  // namespace

std::span<const Mixture> all_mixtures() {
  return kMixtures;
}

const Mixture* find_mixture(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (equal_in_any_case(name, alias.name)) name = alias.means;
  }
  const auto found = std::ranges::find_if(
      kMixtures, [&](const Mixture& mixture) { return equal_in_any_case(name, mixture.name); });
  return found == std::end(kMixtures) ? nullptr : &*found;
}

bool needs_importance(const Mixture& mixture) {
  return needs_importance(mixture.base) || mixture.name == "Q2_K_S" || mixture.name == "IQ3_XS";
}

Layout fit_layout(Layout layout, int64_t cols) {
  if (has_whole_blocks(layout, cols)) return layout;
  const Layout smaller = of_smaller_blocks(layout);
  return has_whole_blocks(smaller, cols) ? smaller : Layout::kF16;
}

Layout choose(const Mixture& mixture, const TensorRole& role) {
  if (role.kind == MatrixKind::kKept || role.dims < 2) return Layout::kF32;
  if (!info(mixture.base).is_quantized) return mixture.base;
  const bool is_output =
      role.kind == MatrixKind::kOutput || (role.kind == MatrixKind::kEmbedding && role.is_tied);
  if (is_output && !has_whole_blocks(mixture.base, role.cols)) {
    return fit_layout(Layout::kQ8_0, role.cols);
  }
  return fit_layout(is_output ? output_layout(mixture) : matrix_layout(mixture, role), role.cols);
}

}  // namespace ingot
