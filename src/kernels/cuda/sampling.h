// SPDX-License-Identifier: Apache-2.0
// Sampling where the logits lie. A pass goes over some rows of logits in four kernels: the largest
// of each row (which is all that greedy rows need), sums of weights, and a selection by one thread
// block a row. A second pass tells logprobs. Rows are cut into blocks of 64 as on the processor
// (kernels/sampling_ops.h), and weights have the same bits.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"
#include "kernels/row_sampling.h"

namespace ingot::cuda {

enum class RowKind : int32_t { kGreedy, kDrawn, kReport };

// One row of a pass, see RowSampling.
struct RowPlan {
  int32_t row = 0;  // of the logits
  RowKind kind = RowKind::kGreedy;
  int32_t first_edit = 0;
  int32_t edits = 0;
  int64_t first_mask_word = -1;  // -1: no mask
  int32_t top_k = 0;             // of a report: how many alternatives
  float top_p_scale = 1;
  float scale = 1;
  double top_p = 1;
  double min_p_reach = 0;
  double uniform = 0;
};

struct RowReport {
  float logprob;
  int32_t count;  // of alternatives, best first
  int32_t ids[kMostDeviceLogprobs];
  float logprobs[kMostDeviceLogprobs];
};

// Everything lies on the device, but for what is said to be the host's (pinned).
struct SamplingPass {
  float* logits;  // [rows, vocab]
  int32_t vocab;
  const RowPlan* plans;  // [count]
  int32_t count;
  int32_t searched;  // the first so many are not greedy
  const LogitEdit* edits;
  float* saved_logits;  // [edits], what the edits replaced
  const uint32_t* masks;
  int32_t parts;                     // thread blocks that share a row
  unsigned long long* partial_tops;  // [count, parts]
  unsigned long long* tops;          // [count], see key_of() in sampling_row.cuh
  float* block_tops;                 // [searched, blocks of 64]
  float* block_sums;                 // [searched, blocks of 64]
  int32_t* tokens;                   // [rows of logits] of the first pass: the token, or -1
  int32_t* host_tokens;              // the same, the host's
  RowReport* host_reports;           // [count] of a pass of reports, the host's
};

// How many thread blocks should share a row.
int32_t sampling_parts(int32_t rows, int32_t vocab);
// Works the edits into the logits; undo_edits() takes them out again.
void apply_edits(const SamplingPass& pass, Stream stream);
void undo_edits(const SamplingPass& pass, Stream stream);
// The largest of every row; tokens of greedy rows.
void scan_rows(const SamplingPass& pass, Stream stream);
// Sums of weights, where a search needs those of the whole row.
void weigh_rows(const SamplingPass& pass, Stream stream);
// Tokens of rows that are drawn; reports.
void search_rows(const SamplingPass& pass, Stream stream);

}  // namespace ingot::cuda
