// SPDX-License-Identifier: Apache-2.0
// One encoder a layout, in this build's target. find_encoder.cc lists them.
#pragma once

#include "quant/encoders.h"

namespace ingot::quant::INGOT_TARGET {

void encode_f16(const EncodeJob& job);
void encode_q8_0(const EncodeJob& job);
void encode_q4_0(const EncodeJob& job);
void encode_q5_0(const EncodeJob& job);
void encode_q4_1(const EncodeJob& job);
void encode_q5_1(const EncodeJob& job);
void encode_q2_k(const EncodeJob& job);
void encode_q3_k(const EncodeJob& job);
void encode_q4_k(const EncodeJob& job);
void encode_q5_k(const EncodeJob& job);
void encode_q6_k(const EncodeJob& job);
void encode_iq4_nl(const EncodeJob& job);
void encode_iq4_xs(const EncodeJob& job);
void encode_mxfp4(const EncodeJob& job);
void encode_nvfp4(const EncodeJob& job);
void encode_tq1_0(const EncodeJob& job);
void encode_tq2_0(const EncodeJob& job);
void encode_q1_0(const EncodeJob& job);
void encode_q2_0(const EncodeJob& job);
void encode_iq3_s(const EncodeJob& job);
void encode_iq3_xxs(const EncodeJob& job);
void encode_iq2_s(const EncodeJob& job);
void encode_iq2_xs(const EncodeJob& job);
void encode_iq2_xxs(const EncodeJob& job);
void encode_iq1_s(const EncodeJob& job);
void encode_iq1_m(const EncodeJob& job);

void replace_q2_k_codes(const uint8_t* codes, std::byte* block);
void replace_q3_k_codes(const uint8_t* codes, std::byte* block);
void replace_q4_k_codes(const uint8_t* codes, std::byte* block);
void replace_q5_k_codes(const uint8_t* codes, std::byte* block);
void replace_q6_k_codes(const uint8_t* codes, std::byte* block);

}  // namespace ingot::quant::INGOT_TARGET
