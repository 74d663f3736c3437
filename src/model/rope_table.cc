// SPDX-License-Identifier: Apache-2.0
#include "model/rope_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace ingot {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// yarn's softening of the attention for a context stretched by `factor`.
double yarn_mscale(double factor, double weight) {
  return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1.0;
}

// Yarn: high frequencies keep their speed, low ones are slowed by the factor, with a ramp between.
void apply_yarn(const RopeSpec& spec, double original, std::vector<double>& inverse,
                double& attention) {
  const auto dim = static_cast<double>(spec.rotary_dim);
  const auto correction = [&](double rotations) {
    return dim * std::log(original / (rotations * kTwoPi)) / (2 * std::log(spec.theta));
  };
  double low = correction(spec.beta_fast);
  double high = correction(spec.beta_slow);
  if (spec.truncates) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;  // a step instead of a division by zero
  for (size_t i = 0; i < inverse.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inverse[i] = inverse[i] / spec.factor * ramp + inverse[i] * (1 - ramp);
  }
  attention = yarn_mscale(spec.factor, 1);
  if (spec.mscale != 0 && spec.mscale_all_dim != 0) {
    attention =
        yarn_mscale(spec.factor, spec.mscale) / yarn_mscale(spec.factor, spec.mscale_all_dim);
  }
}

// Llama 3.1: three bands by wavelength; the middle one is interpolated.
void apply_llama3(const RopeSpec& spec, double original, std::vector<double>& inverse) {
  const double longest = original / spec.low_freq_factor;
  const double shortest = original / spec.high_freq_factor;
  for (double& frequency : inverse) {
    const double wavelength = kTwoPi / frequency;
    if (wavelength < shortest) continue;
    if (wavelength > longest) {
      frequency /= spec.factor;
      continue;
    }
    const double smooth = (original / wavelength - spec.low_freq_factor) /
                          (spec.high_freq_factor - spec.low_freq_factor);
    frequency = (1 - smooth) * frequency / spec.factor + smooth * frequency;
  }
}

double stretched_theta(const RopeSpec& spec, double original, double length) {
  if (spec.scaling != RopeScaling::kDynamic || length <= original) return spec.theta;
  const auto dim = static_cast<double>(spec.rotary_dim);
  return spec.theta *
         std::pow(spec.factor * length / original - (spec.factor - 1), dim / (dim - 2));
}

// Positions whose numbers are kept, so that they take no more than 64 MiB.
int64_t most_kept(int64_t pairs) {
  return (int64_t{32} << 20) / static_cast<int64_t>(sizeof(float)) / std::max<int64_t>(pairs, 1);
}

void compute_row(const RopeFrequencies& frequencies, int64_t position, float* cos, float* sin) {
  for (size_t pair = 0; pair < frequencies.inverse.size(); ++pair) {
    // The angle is rounded to float before the cosine, as the reference implementation does.
    const float angle = static_cast<float>(position) * frequencies.inverse[pair];
    cos[pair] = std::cos(angle) * frequencies.attention_factor;
    sin[pair] = std::sin(angle) * frequencies.attention_factor;
  }
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeSpec& spec, int64_t context, int64_t rope_length) {
  const auto original =
      static_cast<double>(spec.original_context > 0 ? spec.original_context : context);
  const double theta = stretched_theta(spec, original, static_cast<double>(rope_length));
  std::vector<double> inverse(static_cast<size_t>(spec.rotary_dim / 2));
  for (size_t i = 0; i < inverse.size(); ++i) {
    inverse[i] =
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(spec.rotary_dim));
  }
  const bool is_long =
      spec.scaling == RopeScaling::kLongRope && static_cast<double>(rope_length) > original;
  const std::vector<float>& factors = is_long ? spec.long_factors : spec.short_factors;
  for (size_t i = 0; i < std::min(inverse.size(), factors.size()); ++i)
    inverse[i] /= factors[i];

  double attention = 1;
  switch (spec.scaling) {
    case RopeScaling::kNone:
    case RopeScaling::kDynamic:
      break;
    case RopeScaling::kLinear:
      for (double& frequency : inverse)
        frequency /= spec.factor;
      break;
    case RopeScaling::kYarn:
      apply_yarn(spec, original, inverse, attention);
      break;
    case RopeScaling::kLlama3:
      apply_llama3(spec, original, inverse);
      break;
    case RopeScaling::kLongRope:
      if (spec.factor > 1) attention = std::sqrt(1 + std::log(spec.factor) / std::log(original));
      break;
  }
  if (spec.attention_factor != 0) attention = spec.attention_factor;
  return {std::vector<float>(inverse.begin(), inverse.end()), static_cast<float>(attention)};
}

const RopeFrequencies& RopeTable::frequencies_for(int64_t rope_length) {
  const int64_t key = depends_on_length() ? rope_length : 0;
  if (key != cached_length_) {
    cached_ = rope_frequencies(spec_, context_, key);
    cached_length_ = key;
  }
  return cached_;
}

void RopeTable::fill_row(int64_t position, int64_t rope_length, float* cos, float* sin) {
  const RopeFrequencies& frequencies = frequencies_for(rope_length);
  if (depends_on_length() || position >= most_kept(pairs()))
    return compute_row(frequencies, position, cos, sin);
  const auto row = static_cast<size_t>(position);
  const auto width = static_cast<size_t>(pairs());
  if (row >= is_kept_.size()) {
    is_kept_.resize(std::min(std::bit_ceil(row + 1), static_cast<size_t>(most_kept(pairs()))));
    kept_.resize(is_kept_.size() * 2 * width);
  }
  float* const kept = kept_.data() + row * 2 * width;
  if (!is_kept_[row]) compute_row(frequencies, position, kept, kept + width);
  is_kept_[row] = true;
  std::copy_n(kept, width, cos);
  std::copy_n(kept + width, width, sin);
}

void RopeTable::fill(const Batch& batch) {
  cos_.resize(batch.tokens.size() * static_cast<size_t>(pairs()));
  sin_.resize(cos_.size());
  int64_t at = 0;
  for (const BatchSequence& sequence : batch.sequences) {
    for (int64_t i = 0; i < sequence.tokens; ++i, at += pairs()) {
      fill_row(sequence.first_position + i, sequence.rope_length, cos_.data() + at,
               sin_.data() + at);
    }
  }
}

}  // namespace ingot
