// SPDX-License-Identifier: Apache-2.0
#include "quant/encode/layout_encoders.h"

namespace ingot::quant::INGOT_TARGET {

Encoder find_encoder(Layout layout) {
  switch (layout) {
    case Layout::kF16:
      return encode_f16;
    case Layout::kQ8_0:
      return encode_q8_0;
    case Layout::kQ4_0:
      return encode_q4_0;
    case Layout::kQ5_0:
      return encode_q5_0;
    case Layout::kQ4_1:
      return encode_q4_1;
    case Layout::kQ5_1:
      return encode_q5_1;
    case Layout::kQ2_K:
      return encode_q2_k;
    case Layout::kQ3_K:
      return encode_q3_k;
    case Layout::kQ4_K:
      return encode_q4_k;
    case Layout::kQ5_K:
      return encode_q5_k;
    case Layout::kQ6_K:
      return encode_q6_k;
    case Layout::kIQ4_NL:
      return encode_iq4_nl;
    case Layout::kIQ4_XS:
      return encode_iq4_xs;
    case Layout::kMXFP4:
      return encode_mxfp4;
    case Layout::kNVFP4:
      return encode_nvfp4;
    case Layout::kTQ1_0:
      return encode_tq1_0;
    case Layout::kTQ2_0:
      return encode_tq2_0;
    case Layout::kQ1_0:
      return encode_q1_0;
    case Layout::kQ2_0:
      return encode_q2_0;
    case Layout::kIQ3_S:
      return encode_iq3_s;
    case Layout::kIQ3_XXS:
      return encode_iq3_xxs;
    case Layout::kIQ2_S:
      return encode_iq2_s;
    case Layout::kIQ2_XS:
      return encode_iq2_xs;
    case Layout::kIQ2_XXS:
      return encode_iq2_xxs;
    case Layout::kIQ1_S:
      return encode_iq1_s;
    case Layout::kIQ1_M:
      return encode_iq1_m;
    default:
      return nullptr;
  }
}

CodeReplacer find_code_replacer(Layout layout) {
  switch (layout) {
    case Layout::kQ2_K:
      return replace_q2_k_codes;
    case Layout::kQ3_K:
      return replace_q3_k_codes;
    case Layout::kQ4_K:
      return replace_q4_k_codes;
    case Layout::kQ5_K:
      return replace_q5_k_codes;
    case Layout::kQ6_K:
      return replace_q6_k_codes;
    default:
      return nullptr;
  }
}

}  // namespace ingot::quant::INGOT_TARGET
