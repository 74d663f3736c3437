// SPDX-License-Identifier: Apache-2.0
#include "quant/quantize_rows.h"

#include "base/check.h"
#include "base/cpu.h"
#include "blocks/elements.h"
#include "blocks/layout.h"
#include "quant/encoders.h"

namespace ingot {
namespace quant {

std::span<const EncodeTarget> encode_targets() {
  static constexpr EncodeTarget kTargets[] = {
#if defined(INGOT_QUANT_X86)
    {"avx512", avx512::find_encoder},
    {"avx2", avx2::find_encoder},
#endif
    {"generic", generic::find_encoder},
  };
#if defined(INGOT_QUANT_X86)
  static const CpuFeatures kCpu = detect_cpu_features();
  const size_t skipped = kCpu.has_avx512 ? 0 : kCpu.has_avx2 ? 1 : 2;
#else
  const size_t skipped = 0;
#endif
  return std::span(kTargets).subspan(skipped);
}

}  // namespace quant

namespace {

bool is_plain(Layout layout) {
  return layout == Layout::kF32 || layout == Layout::kBF16;
}

}  // namespace

bool can_quantize(Layout layout) {
  return is_plain(layout) || quant::generic::find_encoder(layout) != nullptr;
}

bool needs_importance(Layout layout) {
  switch (layout) {
    case Layout::kIQ1_S:
    case Layout::kIQ1_M:
    case Layout::kIQ2_XXS:
    case Layout::kIQ2_XS:
    case Layout::kIQ2_S:
    case Layout::kIQ3_XXS:
      return true;
    default:
      return false;
  }
}

void quantize_rows(Layout layout, std::span<const float> values, int64_t cols,
                   std::span<const float> importance, std::span<std::byte> out) {
  INGOT_CHECK(cols > 0);
  const auto width = static_cast<size_t>(cols);
  INGOT_CHECK(values.size() % width == 0 && width % info(layout).block_elements == 0);
  INGOT_CHECK(importance.empty() || importance.size() == width);
  INGOT_CHECK(out.size() == storage_bytes(layout, values.size()).value());
  if (is_plain(layout)) {
    encode_elements(layout, values, out);
    return;
  }
  const quant::Encoder encode = quant::encode_targets().front().find(layout);
  INGOT_CHECK(encode != nullptr);
  encode({values.data(), values.size(), width, importance.empty() ? nullptr : importance.data(),
          out.data()});
}

}  // namespace ingot
