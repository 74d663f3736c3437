// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/row_sampler.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/sampling_ops.h"

namespace ingot::cuda {
namespace {

constexpr size_t kPieceAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
}

// Steps differ in their rows; memory for the next power of two is soon enough for all of them.
template <class Some>
Status reserve_ample(Some& memory, size_t bytes) {
  return bytes <= memory.size() ? Status::ok() : memory.reserve(std::bit_ceil(bytes));
}

template <class T>
const T* put(std::span<const T> values, std::byte* host, std::byte* device, size_t& used) {
  if (!values.empty()) std::memcpy(host + used, values.data(), values.size_bytes());
  const T* const own = reinterpret_cast<const T*>(device + used);
  used += aligned(values.size_bytes());
  return own;
}

}  // namespace

RowSampler::~RowSampler() {
  for (const Slot& slot : slots_)
    if (slot.done != nullptr) cudaEventDestroy(slot.done);
}

void RowSampler::add_row(const RowSampling& wanted, size_t row, RowKind kind, Slot& slot) {
  RowPlan& plan = slot.plans.emplace_back();
  plan.row = static_cast<int32_t>(row);
  plan.kind = kind;
  plan.first_edit = static_cast<int32_t>(edits_.size());
  plan.edits = static_cast<int32_t>(wanted.edits.size());
  edits_.insert(edits_.end(), wanted.edits.begin(), wanted.edits.end());
  if (!wanted.mask.empty()) {
    plan.first_mask_word = std::ssize(masks_);
    masks_.insert(masks_.end(), wanted.mask.begin(), wanted.mask.end());
    shortest_mask_ = std::min(shortest_mask_, wanted.mask.size());
  }
  INGOT_CHECK(wanted.top_k >= 0 && wanted.top_k <= kMostDeviceTopK);
  plan.top_k = wanted.top_k;
  if (kind == RowKind::kDrawn && wanted.top_k == 0) has_sums_ = true;
  plan.top_p_scale = wanted.top_p_scale;
  plan.scale = wanted.scale;
  plan.top_p = wanted.top_p;
  plan.min_p_reach = wanted.min_p_reach;
  plan.uniform = wanted.uniform;
}

void RowSampler::plan(std::span<const RowSampling> rows, Slot& slot) {
  slot.plans.clear();
  edits_.clear();
  masks_.clear();
  shortest_mask_ = std::numeric_limits<size_t>::max();
  has_sums_ = false;
  for (const RowKind kind : {RowKind::kDrawn, RowKind::kGreedy}) {
    for (size_t row = 0; row < rows.size(); ++row) {
      const bool is_greedy = kind == RowKind::kGreedy;
      if (!rows[row].is_on_host && rows[row].is_greedy == is_greedy)
        add_row(rows[row], row, kind, slot);
    }
    if (kind == RowKind::kDrawn) searched_ = static_cast<int32_t>(slot.plans.size());
  }
  slot.sampled = static_cast<int32_t>(slot.plans.size());
  for (int32_t i = 0; i < slot.sampled; ++i) {
    const int32_t row = slot.plans[static_cast<size_t>(i)].row;
    const int32_t best = rows[static_cast<size_t>(row)].logprobs;
    if (best < 0) continue;
    INGOT_CHECK(best <= kMostDeviceLogprobs);
    RowPlan& report = slot.plans.emplace_back();
    report.row = row;
    report.kind = RowKind::kReport;
    report.top_k = best;
  }
}

// Room for the tokens of so many rows; those of the step before may still be wanted.
Status RowSampler::keep_tokens(size_t rows, Stream stream) {
  constexpr size_t kFewest = 1024;
  const size_t bytes = std::bit_ceil(std::max(rows, kFewest)) * sizeof(int32_t);
  if (bytes <= tokens_.size()) return Status::ok();
  INGOT_TRY(Memory larger, Memory::allocate(bytes));
  if (tokens_.size() > 0) {
    INGOT_TRY(to_status(cudaMemcpyAsync(larger.data(), tokens_.data(), tokens_.size(),
                                        cudaMemcpyDeviceToDevice, stream),
                        "what was sampled on the GPU"));
  }
  INGOT_TRY(to_status(cudaStreamSynchronize(stream), "what was sampled on the GPU"));
  tokens_ = std::move(larger);
  ++moves_;
  return Status::ok();
}

Status RowSampler::begin(std::span<const RowSampling> rows, Stream stream) {
  INGOT_CHECK(started_ - finished_ < 2);
  Slot& slot = next();
  plan(rows, slot);
  slot.samples.resize(rows.size());
  for (RowSample& sample : slot.samples)
    sample.id = -1;
  INGOT_TRY(keep_tokens(rows.size(), stream));
  if (slot.plans.empty()) return Status::ok();
  const std::span<const RowPlan> plans(slot.plans);
  const std::span<const LogitEdit> edits(edits_);
  const std::span<const uint32_t> masks(masks_);
  const size_t bytes =
      aligned(plans.size_bytes()) + aligned(edits.size_bytes()) + aligned(masks.size_bytes());
  INGOT_TRY(reserve_ample(sent_host_, bytes));
  INGOT_TRY(reserve_ample(sent_, bytes));
  size_t used = 0;
  device_plans_ = put(plans, sent_host_.data(), sent_.data(), used);
  device_edits_ = put(edits, sent_host_.data(), sent_.data(), used);
  device_masks_ = put(masks, sent_host_.data(), sent_.data(), used);
  return to_status(
      cudaMemcpyAsync(sent_.data(), sent_host_.data(), bytes, cudaMemcpyHostToDevice, stream),
      "what is sampled on the GPU");
}

Status RowSampler::reserve(int64_t vocab, Slot& slot) {
  const auto sampled = static_cast<size_t>(slot.sampled);
  const size_t reports = slot.plans.size() - sampled;
  const size_t rows = std::max(sampled, reports);
  const size_t searched = std::max(static_cast<size_t>(searched_), reports);
  parts_ = sampling_parts(static_cast<int32_t>(rows), static_cast<int32_t>(vocab));
  const size_t blocks = logit_blocks(static_cast<size_t>(vocab));
  const size_t parts = static_cast<size_t>(parts_);
  INGOT_TRY(reserve_ample(tops_, rows * (parts + 1) * sizeof(unsigned long long)));
  INGOT_TRY(reserve_ample(blocks_, 2 * searched * blocks * sizeof(float)));
  INGOT_TRY(reserve_ample(saved_, edits_.size() * sizeof(float)));
  INGOT_TRY(reserve_ample(slot.tokens, slot.samples.size() * sizeof(int32_t)));
  return reserve_ample(slot.reports, reports * sizeof(RowReport));
}

SamplingPass RowSampler::pass_of(float* logits, int64_t vocab, const Slot& slot) const {
  const auto blocks = static_cast<int64_t>(logit_blocks(static_cast<size_t>(vocab)));
  const int32_t reports = static_cast<int32_t>(slot.plans.size()) - slot.sampled;
  const int64_t rows = std::max(slot.sampled, reports);
  auto* const tops = reinterpret_cast<unsigned long long*>(tops_.data());
  auto* const each_block = reinterpret_cast<float*>(blocks_.data());
  return {.logits = logits,
          .vocab = static_cast<int32_t>(vocab),
          .plans = device_plans_,
          .count = slot.sampled,
          .searched = searched_,
          .edits = device_edits_,
          .saved_logits = reinterpret_cast<float*>(saved_.data()),
          .masks = device_masks_,
          .parts = parts_,
          .partial_tops = tops + rows,
          .tops = tops,
          .block_tops = each_block,
          .block_sums = each_block + std::max(searched_, reports) * blocks,
          .tokens = reinterpret_cast<int32_t*>(tokens_.data()),
          .host_tokens = reinterpret_cast<int32_t*>(slot.tokens.data()),
          .host_reports = reinterpret_cast<RowReport*>(slot.reports.data())};
}

Status RowSampler::start(float* logits, int64_t vocab, Stream stream) {
  Slot& slot = next();
  ++started_;
  if (slot.plans.empty()) return Status::ok();
  INGOT_CHECK(shortest_mask_ >= (static_cast<size_t>(vocab) + 31) / 32);
  INGOT_TRY(reserve(vocab, slot));
  SamplingPass pass = pass_of(logits, vocab, slot);
  if (!edits_.empty()) apply_edits(pass, stream);
  scan_rows(pass, stream);
  if (has_sums_) weigh_rows(pass, stream);
  if (pass.searched > 0) search_rows(pass, stream);
  if (!edits_.empty()) undo_edits(pass, stream);
  // Logprobs are of the logits as they were.
  const auto reports = static_cast<int32_t>(slot.plans.size()) - slot.sampled;
  if (reports > 0) {
    pass.plans += slot.sampled;
    pass.count = pass.searched = reports;
    scan_rows(pass, stream);
    weigh_rows(pass, stream);
    search_rows(pass, stream);
  }
  INGOT_TRY(to_status(cudaGetLastError(), "sampling on the GPU"));
  if (slot.done == nullptr) {
    INGOT_TRY(to_status(cudaEventCreateWithFlags(&slot.done, cudaEventDisableTiming),
                        "an event of the GPU"));
  }
  return to_status(cudaEventRecord(slot.done, stream), "sampling on the GPU");
}

Result<std::span<const RowSample>> RowSampler::finish() {
  INGOT_CHECK(finished_ < started_);
  Slot& slot = slots_[static_cast<size_t>(finished_++ % 2)];
  if (!slot.plans.empty()) {
    INGOT_TRY(to_status(cudaEventSynchronize(slot.done), "a step of the GPU"));
    take(slot);
  }
  return std::span<const RowSample>(slot.samples);
}

void RowSampler::take(Slot& slot) {
  const auto* const tokens = reinterpret_cast<const int32_t*>(slot.tokens.data());
  const auto* const reports = reinterpret_cast<const RowReport*>(slot.reports.data());
  for (size_t i = 0; i < slot.plans.size(); ++i) {
    const auto row = static_cast<size_t>(slot.plans[i].row);
    RowSample& sample = slot.samples[row];
    if (i < static_cast<size_t>(slot.sampled)) {
      sample.id = tokens[row];
      continue;
    }
    if (sample.id < 0) continue;
    const RowReport& report = reports[i - static_cast<size_t>(slot.sampled)];
    sample.logprobs.id = sample.id;
    sample.logprobs.logprob = report.logprob;
    sample.logprobs.top.clear();
    for (size_t j = 0; j < static_cast<size_t>(report.count); ++j)
      sample.logprobs.top.push_back({report.ids[j], report.logprobs[j]});
  }
}

}  // namespace ingot::cuda
