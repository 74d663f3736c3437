// SPDX-License-Identifier: Apache-2.0
#include "engine/sampler_candidates.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/check.h"

namespace ingot {
namespace {

constexpr size_t kSortDirectly = 1024;  // keys; more are first put into buckets
constexpr size_t kBuckets = 2048;
constexpr float kWidest = 1e30F;  // range of keys in buckets

// Grows, never shrinks: what the decode loop touches is allocated once.
template <class T>
T* room_for(std::vector<T>& buffer, size_t count) {
  if (buffer.size() < count) buffer.resize(count);
  return buffer.data();
}

}  // namespace

bool Candidates::start(std::span<const float> logits) {
  logits_ = logits;
  vocab_ = logits.size();
  ids_.clear();
  scale_ = 1;
  return rescan() && top_ < kInfinity;
}

bool Candidates::rescan() {
  const size_t blocks = logit_blocks(size());
  const bool is_number = kernels_->scan(logits_.data(), size(), room_for(block_max_, blocks));
  // The maxima are scanned like logits: one by one they would take half as long as the row.
  float* maxima = room_for(scratch_, logit_blocks(blocks));
  kernels_->scan(block_max_.data(), blocks, maxima);
  top_ = -kInfinity;
  for (size_t i = 0; i < logit_blocks(blocks); ++i)
    top_ = std::max(top_, maxima[i]);
  return is_number;
}

void Candidates::keep_allowed(std::span<const uint32_t> mask) {
  INGOT_CHECK(is_all() && mask.size() * 32 >= logits_.size());
  float* own = room_for(own_, logits_.size());
  kernels_->mask(logits_.data(), logits_.size(), mask.data(), own);
  logits_ = std::span(own, logits_.size());
  rescan();
}

void Candidates::keep_ids(std::span<const TokenId> sorted_ids) {
  INGOT_CHECK(is_all());
  uint32_t* positions = room_for(positions_, sorted_ids.size() + 8);
  size_t count = 0;
  for (const TokenId id : sorted_ids) {
    if (id >= 0 && static_cast<size_t>(id) < logits_.size())
      positions[count++] = static_cast<uint32_t>(id);
  }
  gather(count);
  rescan();
}

TokenId Candidates::best() const {
  for (size_t block = 0;; ++block) {
    if (block_max_[block] != top_) continue;
    size_t i = block * kLogitBlock;
    while (logits_[i] != top_)
      ++i;
    return id(i);
  }
}

std::span<float> Candidates::edit() {
  float* own = room_for(own_, logits_.size());
  if (logits_.data() != own) {
    // In pieces: one large memcpy would write past the caches, and what follows reads it again.
    constexpr size_t kPiece = 2048;
    for (size_t i = 0; i < size(); i += kPiece)
      std::copy_n(logits_.data() + i, std::min(kPiece, size() - i), own + i);
  }
  const std::span<float> mine(own, logits_.size());
  if (scale_ != 1) {
    for (float& logit : mine)
      logit *= scale_;
    scale_ = 1;
  }
  logits_ = mine;
  return mine;
}

void Candidates::multiply_scale(double factor) {
  // Far outside what temperatures give; keeps a weight's exponent from being 0 * infinity.
  scale_ = static_cast<float>(std::clamp(static_cast<double>(scale_) * factor, 1e-30, 1e30));
}

WeightSums Candidates::total() {
  return kernels_->weigh(logits_.data(), logits_.size(), top_, scale_, nullptr,
                         room_for(block_sums_, logit_blocks(logits_.size())));
}

std::span<const float> Candidates::weights() {
  float* weights = room_for(weights_, logits_.size());
  kernels_->weigh(logits_.data(), logits_.size(), top_, scale_, weights,
                  room_for(block_sums_, logit_blocks(logits_.size())));
  return {weights, logits_.size()};
}

LogitMoments Candidates::moments(float center) const {
  return kernels_->moments(logits_.data(), logits_.size(), center);
}

// Takes the candidates at positions_[0, count) along; they are in order, so in place is safe.
void Candidates::gather(size_t count) {
  const bool was_all = is_all();
  float* own = room_for(own_, count);
  if (was_all) ids_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t from = positions_[i];
    ids_[i] = was_all ? static_cast<TokenId>(from) : ids_[from];
    own[i] = logits_[from];
  }
  ids_.resize(count);
  logits_ = std::span(own, count);
}

template <class Keep>
void Candidates::filter(std::span<const float> keys, Keep&& keep) {
  uint32_t* positions = room_for(positions_, keys.size() + 8);
  size_t count = 0;
  for (size_t i = 0; i < keys.size(); ++i)
    if (keep(keys[i])) positions[count++] = static_cast<uint32_t>(i);
  if (count == logits_.size()) return;
  gather(count);
  rescan();
}

void Candidates::keep_from(float floor) {
  const size_t count = kernels_->collect(logits_.data(), logits_.size(), block_max_.data(), floor,
                                         room_for(positions_, logits_.size() + 8));
  if (count == logits_.size() || count == 0) return;
  gather(count);
  rescan();
}

void Candidates::keep(Cut cut) {
  // Vectors find what is at least the cut; the few ties too many go one by one.
  const size_t found = kernels_->collect(logits_.data(), logits_.size(), block_max_.data(), cut.key,
                                         room_for(positions_, logits_.size() + 8));
  size_t ties = 0;
  size_t count = 0;
  for (size_t i = 0; i < found; ++i) {
    if (logits_[positions_[i]] == cut.key && ++ties > cut.ties) continue;
    positions_[count++] = positions_[i];
  }
  if (count == logits_.size() || count == 0) return;
  gather(count);
  rescan();
}

void Candidates::remove_above(Cut cut) {
  size_t ties = 0;
  filter(logits_,
         [&](float logit) { return logit < cut.key || (logit == cut.key && ++ties == cut.ties); });
}

// A bound from below on the count-th largest logit: as many groups of blocks have one as large.
// Groups are as coarse as leaves several times more of them than wanted, to have few to select
// from; the bound is then so near that hardly more than `count` are above.
float Candidates::find_floor(size_t count) {
  const size_t blocks = logit_blocks(logits_.size());
  if (count >= blocks) return -kInfinity;
  const size_t group = std::max<size_t>(1, blocks / (6 * count));
  const size_t groups = (blocks + group - 1) / group;
  float* maxima = room_for(scratch_, groups);
  for (size_t i = 0; i < groups; ++i) {
    maxima[i] = block_max_[i * group];
    for (size_t j = i * group + 1; j < std::min((i + 1) * group, blocks); ++j)
      maxima[i] = std::max(maxima[i], block_max_[j]);
  }
  std::nth_element(maxima, maxima + count - 1, maxima + groups, std::greater<>());
  return maxima[count - 1];
}

void Candidates::keep_best(size_t count) {
  if (count == 0 || count >= size()) return;
  keep_from(find_floor(count));
  if (count >= size()) return;
  float* sorted = room_for(scratch_, size());
  std::ranges::copy(logits_, sorted);
  std::nth_element(sorted, sorted + count - 1, sorted + size(), std::greater<>());
  const float key = sorted[count - 1];
  const auto above =
      static_cast<size_t>(std::ranges::count_if(logits_, [&](float x) { return x > key; }));
  keep({key, count - above});
}

// Where the weights of the keys, largest first, reach `target`. More than a few keys are put into
// buckets over [low, high], which holds them all; only the bucket in which it happens is sorted.
Cut Candidates::find_cut(std::span<const float> keys, std::span<const float> weights, float low,
                         float high, double target, bool until_above) {
  const float range = high - low;
  const float step = range > 0 ? static_cast<float>(kBuckets - 1) / range : 0.0F;
  const auto bucket_of = [&](float key) { return static_cast<size_t>((high - key) * step); };
  double sum = 0;
  size_t bucket = 0;
  const bool has_buckets = keys.size() > kSortDirectly && std::isfinite(step) && range < kWidest;
  if (has_buckets) {
    buckets_.assign(kBuckets, 0);
    for (size_t i = 0; i < keys.size(); ++i)
      buckets_[bucket_of(keys[i])] += static_cast<double>(weights[i]);
    // The last bucket is searched whatever the rounding of the sums before it.
    while (bucket + 1 < kBuckets && sum + buckets_[bucket] < target)
      sum += buckets_[bucket++];
  }
  keys_.clear();
  for (size_t i = 0; i < keys.size(); ++i)
    if (!has_buckets || bucket_of(keys[i]) == bucket)
      keys_.push_back({keys[i], weights[i], static_cast<uint32_t>(i)});
  const auto is_before = [](const Key& a, const Key& b) {
    return a.key != b.key ? a.key > b.key : a.at < b.at;
  };
  // A bucket of equal keys, however large, is in order already.
  if (!std::ranges::is_sorted(keys_, is_before)) std::ranges::sort(keys_, is_before);
  Cut cut{low, keys.size()};
  for (size_t i = 0; i < keys_.size(); ++i) {
    sum += static_cast<double>(keys_[i].weight);
    cut.ties = i > 0 && keys_[i].key == keys_[i - 1].key ? cut.ties + 1 : 1;
    cut.key = keys_[i].key;
    if (until_above ? sum > target : sum >= target) return cut;
  }
  // Only rounding can lead here: the bucket's own sum said that the target is in it.
  cut.ties = keys.size();
  return cut;
}

void Candidates::keep_nucleus(double share) {
  const double sum = total().weight;
  const double target = share * sum;
  // The nucleus is nearly always within a few nats of the top, so that only a few blocks are looked
  // at. It is always within the reach beyond which all tokens together are too light to matter; the
  // whole row is the last resort, for rounding.
  const auto enough = static_cast<float>(
      std::log(static_cast<double>(size()) / std::max((1 - share) * sum, 1e-30)) + 1e-3);
  for (const float reach : {4.0F, 8.0F, enough, kInfinity}) {
    if (reach < enough && enough < 10) continue;  // flat: most of the row is in it
    const float floor = std::max(top_ - reach / scale_, std::numeric_limits<float>::lowest());
    const size_t count = kernels_->collect(logits_.data(), logits_.size(), block_max_.data(), floor,
                                           room_for(positions_, logits_.size() + 8));
    float* near = room_for(near_logits_, count);
    for (size_t i = 0; i < count; ++i)
      near[i] = logits_[positions_[i]];
    float* near_weights = room_for(near_weights_, count);
    const WeightSums sums = kernels_->weigh(near, count, top_, scale_, near_weights,
                                            room_for(block_sums_, logit_blocks(count)));
    if (sums.weight < target && reach < kInfinity) continue;
    keep(find_cut({near, count}, {near_weights, count}, floor, top_, target, false));
    return;
  }
}

void Candidates::keep_by_keys(std::span<const float> keys, float lowest_key, double share) {
  const std::span<const float> each = weights();
  double sum = 0;
  for (size_t i = 0; i < logit_blocks(size()); ++i)
    sum += static_cast<double>(block_sums_[i]);
  const Cut cut = find_cut(keys, each, lowest_key, 0, share * sum, true);
  size_t ties = 0;
  filter(keys, [&](float key) { return key > cut.key || (key == cut.key && ++ties <= cut.ties); });
}

Candidates::Drawn Candidates::draw(double uniform) {
  const std::span<const float> each = weights();
  const size_t blocks = logit_blocks(size());
  double sum = 0;
  for (size_t i = 0; i < blocks; ++i)
    sum += static_cast<double>(block_sums_[i]);
  double left = uniform * sum;
  size_t block = 0;
  while (block + 1 < blocks && left >= static_cast<double>(block_sums_[block]))
    left -= static_cast<double>(block_sums_[block++]);
  // Rounding may carry `left` past the block's end: then it is the last that has a weight.
  size_t drawn = size();
  for (size_t i = block * kLogitBlock; i < std::min((block + 1) * kLogitBlock, size()); ++i) {
    if (each[i] == 0) continue;
    drawn = i;
    left -= static_cast<double>(each[i]);
    if (left < 0) break;
  }
  if (drawn == size()) {  // the last block has no weight at all: fall back on the top
    drawn = static_cast<size_t>(std::ranges::find(logits_, top_) - logits_.begin());
  }
  return {id(drawn), static_cast<double>(each[drawn]) / sum};
}

}  // namespace ingot
