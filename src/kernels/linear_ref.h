// SPDX-License-Identifier: Apache-2.0
// The scalar linear kernels, entered in linear_list.cc: the slow twins of every fast one.
#pragma once

#include "kernels/linear.h"

namespace ingot::ref {

// Any layout: decodes rows to float, sums in double.
void linear_decode(const LinearArgs& args, int64_t begin, int64_t end);

// Activations in groups of 32.
void linear_q4_0(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q4_1(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q5_0(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q5_1(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q8_0(const LinearArgs& args, int64_t begin, int64_t end);
void linear_iq4_nl(const LinearArgs& args, int64_t begin, int64_t end);
void linear_mxfp4(const LinearArgs& args, int64_t begin, int64_t end);

// Activations in groups of 256.
void linear_q2_k(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q3_k(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q4_k(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q5_k(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q6_k(const LinearArgs& args, int64_t begin, int64_t end);
void linear_iq4_xs(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::ref
