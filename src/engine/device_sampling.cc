// SPDX-License-Identifier: Apache-2.0
#include "engine/device_sampling.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/sampler_stages.h"

namespace ingot {
namespace {

// Where a stage stands in the one order that devices have; temperature may be anywhere behind the
// penalties.
enum class Place : uint8_t { kPenalties, kTopK, kTopP, kMinP, kAnywhere, kNowhere };

// Nothing for a stage that would change nothing.
std::optional<Place> place_of(SamplerStage stage, const SamplingParams& params) {
  const auto if_on = [](bool is_on, Place place) {
    return is_on ? std::optional(place) : std::nullopt;
  };
  switch (stage) {
    case SamplerStage::kPenalties:
      return if_on(has_penalties(params), Place::kPenalties);
    case SamplerStage::kDry:
      return if_on(has_dry(params), Place::kNowhere);
    case SamplerStage::kTopNSigma:
      return if_on(params.top_n_sigma > 0, Place::kNowhere);
    case SamplerStage::kTopK:
      return if_on(params.top_k > 0, Place::kTopK);
    case SamplerStage::kTypicalP:
      return if_on(params.typical_p < 1, Place::kNowhere);
    case SamplerStage::kTopP:
      return if_on(params.top_p < 1, Place::kTopP);
    case SamplerStage::kMinP:
      return if_on(params.min_p > 0, Place::kMinP);
    case SamplerStage::kXtc:
      return if_on(params.xtc_probability > 0, Place::kNowhere);
    case SamplerStage::kTemperature:
      return if_on(params.temperature != 1, Place::kAnywhere);
  }
  return Place::kNowhere;
}

// The factor that Candidates would have after the temperature.
float scale_of(float temperature) {
  return static_cast<float>(std::clamp(1 / static_cast<double>(temperature), 1e-30, 1e30));
}

bool has_penalty_stage(const SamplingParams& params) {
  return params.stages.empty() ||
         std::ranges::find(params.stages, SamplerStage::kPenalties) != params.stages.end();
}

}  // namespace

std::optional<RowSampling> plan_row(const SamplingParams& params) {
  if (params.mirostat != 0 || params.dynatemp_range != 0) return std::nullopt;
  if (params.logprobs.value_or(0) > kMostDeviceLogprobs) return std::nullopt;
  RowSampling row;
  row.is_on_host = false;
  row.is_greedy = is_greedy(params);
  row.logprobs = params.logprobs.value_or(-1);
  std::optional<Place> last;  // of penalties and cuts
  bool has_temperature = false;
  for (const SamplerStage stage : params.stages.empty() ? default_stages() : params.stages) {
    if (row.is_greedy && is_cut(stage)) continue;
    const std::optional<Place> place = place_of(stage, params);
    if (!place) continue;
    if (*place == Place::kNowhere) return std::nullopt;
    if (*place == Place::kAnywhere) {
      if (has_temperature) return std::nullopt;
      has_temperature = true;
      row.scale = scale_of(params.temperature);
      continue;
    }
    const bool is_late = *place == Place::kPenalties && has_temperature;
    if (is_late || (last && *last >= *place)) return std::nullopt;
    last = place;
    if (*place == Place::kTopK) row.top_k = params.top_k;
    if (*place == Place::kTopP) {
      row.top_p = static_cast<double>(params.top_p);
      row.top_p_scale = row.scale;
    }
    if (*place == Place::kMinP) {
      row.min_p_reach =
          std::log(static_cast<double>(params.min_p)) / static_cast<double>(row.scale);
    }
  }
  if (row.top_k > kMostDeviceTopK) return std::nullopt;
  return row;
}

void DeviceSampling::clear() {
  rows_.clear();
  edit_runs_.clear();
  mask_runs_.clear();
  edits_.clear();
  masks_.clear();
  can_go_ahead_ = true;
}

void DeviceSampling::add(const Sampler& sampler, const SequenceView& sequence, uint64_t position,
                         size_t vocab, PenaltyScratch& scratch) {
  const SamplingParams& params = sampler.params();
  std::optional<RowSampling> row = plan_row(params);
  if (!row) return add_on_host();
  if (reads_history(params)) can_go_ahead_ = false;
  row->uniform = sampler.number_for(position);
  list_edits(params, sequence, vocab, has_penalty_stage(params), scratch, own_edits_);
  edit_runs_.push_back({edits_.size(), own_edits_.size()});
  edits_.insert(edits_.end(), own_edits_.begin(), own_edits_.end());
  const size_t words = params.allowed_token_ids.empty() ? 0 : (vocab + 31) / 32;
  mask_runs_.push_back({masks_.size(), words});
  masks_.resize(masks_.size() + words);
  for (const TokenId id : params.allowed_token_ids) {
    if (id >= 0 && static_cast<size_t>(id) < vocab)
      masks_[mask_runs_.back().first + static_cast<size_t>(id) / 32] |= 1u << (id % 32);
  }
  rows_.push_back(*row);
}

std::span<const RowSampling> DeviceSampling::rows() {
  size_t next = 0;
  for (RowSampling& row : rows_) {
    if (row.is_on_host) continue;
    const Run& edits = edit_runs_[next];
    const Run& mask = mask_runs_[next++];
    row.edits = std::span(edits_).subspan(edits.first, edits.count);
    row.mask = std::span(masks_).subspan(mask.first, mask.count);
  }
  return rows_;
}

}  // namespace ingot
