// SPDX-License-Identifier: Apache-2.0
// Attention arithmetic on blocks of positions: the tiles of attention_tiles.h, 4 queries by 2
// positions while scoring and by 16 dimensions while mixing, and the softmax. Per query and
// position: 2 * (key_dim + value_dim) flops; a block is read from L1 by all queries.
// Show it with `ingot bench kernels attention`.
#include "kernels/cpu/neon/attention.h"

#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/neon/attention_rows.h"
#include "kernels/cpu/neon/math.h"

namespace ingot::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();

// By the factors of the scores from `index` on.
Floats8 times(Floats8 v, const float* factors, int64_t index, int64_t count) {
  return factors == nullptr ? v : multiply(v, load_some(factors + index, count));
}

float32x4_t logits_of(const SoftenArgs& args, float32x4_t scores, int64_t index) {
  float32x4_t logit = vmulq_n_f32(scores, args.scale);
  if (args.softcap != 0) {
    const float64x2_t cap = vdupq_n_f64(static_cast<double>(args.softcap));
    logit = by_doubles(
        logit, [cap](float64x2_t v) { return vmulq_f64(cap, tanh_doubles(vdivq_f64(v, cap))); });
  }
  if (args.slope != 0) {
    constexpr int32_t kLanes[4] = {0, 1, 2, 3};
    const int32x4_t distance = vaddq_s32(
        vdupq_n_s32(static_cast<int32_t>(args.first_distance + index)), vld1q_s32(kLanes));
    logit = vaddq_f32(logit, vmulq_n_f32(vcvtq_f32_s32(distance), args.slope));
  }
  return logit;
}
Floats8 logits_of_8(const SoftenArgs& args, Floats8 scores, int64_t index, int64_t count) {
  scores = times(scores, args.key_factors, index, count);
  return {logits_of(args, scores.low, index), logits_of(args, scores.high, index + 4)};
}

Floats8 larger(Floats8 a, Floats8 b) {
  return {vmaxq_f32(a.low, b.low), vmaxq_f32(a.high, b.high)};
}
Floats8 weights_of(Floats8 logits, Floats8 largest) {
  const Floats8 below = subtract(logits, largest);
  return {exp_floats(below.low), exp_floats(below.high)};
}

// Lane j takes scores j, j + 8, ... The last ones go apart, minus infinity behind them.
Softened soften(const SoftenArgs& args, float* scores, int64_t count) {
  const int64_t whole = count & ~int64_t{7};
  Floats8 top = all_8(-kInfinity);
  for (int64_t i = 0; i < whole; i += 8) {
    const Floats8 logit = logits_of_8(args, load_8(scores + i), i, 8);
    store_8(scores + i, logit);
    top = larger(logit, top);
  }
  float rest[8];
  const int64_t left = count - whole;
  store_8(rest, logits_of_8(args, load_some(scores + whole, left), whole, left));
  const Floats8 last = load_some(rest, left, -kInfinity);
  top = larger(last, top);
  const float top_logit = vmaxvq_f32(vmaxq_f32(top.low, top.high));
  const Floats8 largest = all_8(top_logit);

  Floats8 sum = all_8(0);
  for (int64_t i = 0; i < whole; i += 8) {
    const Floats8 weight = weights_of(load_8(scores + i), largest);
    store_8(scores + i, times(weight, args.value_factors, i, 8));
    sum = add(sum, weight);
  }
  // Again, as lanes past the end are no numbers where the largest is minus infinity.
  store_8(rest, weights_of(last, largest));
  const Floats8 weight = load_some(rest, left);
  store_some(scores + whole, left, times(weight, args.value_factors, whole, left));
  return {top_logit, sum_lanes(add(sum, weight))};
}

}  // namespace

constinit const AttentionMath kAttentionMath = {score_floats<Neon, F32Row>, soften,
                                                mix_floats<Neon, F32Row>};

}  // namespace ingot::cpu
