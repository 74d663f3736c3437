// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_step.h"

#include <algorithm>
#include <bit>

namespace ingot::cuda {
namespace {

constexpr size_t kPieceAlignment = 256;
// Passes of single tokens are recorded for lengths up to powers of two, from this on.
constexpr int64_t kShortestRecorded = 256;

int64_t recorded_length(int64_t longest) {
  return static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max(longest, kShortestRecorded))));
}

}  // namespace

template <class T>
StepWriter::Room<T> StepWriter::room(size_t count) {
  used_ = (used_ + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment;
  const size_t at = used_;
  used_ += count * sizeof(T);
  if (host_ == nullptr) return {nullptr, nullptr};
  return {reinterpret_cast<T*>(host_ + at), reinterpret_cast<const T*>(device_ + at)};
}

template <class T>
const T* StepWriter::values(std::span<const T> from) {
  const auto [to, own] = room<T>(from.size());
  if (to != nullptr) std::ranges::copy(from, to);
  return own;
}

template <class T>
const int32_t* StepWriter::ints(std::span<const T> from) {
  const auto [to, own] = room<int32_t>(from.size());
  if (to != nullptr) {
    std::ranges::transform(from, to, [](T value) { return static_cast<int32_t>(value); });
  }
  return own;
}

DeviceSequences StepWriter::sequences(const std::vector<SequenceRows>& group) {
  const size_t count = group.size();
  DeviceSequences out{};
  int64_t most = 0;
  int64_t longest = 0;
  for (const SequenceRows& sequence : group) {
    most = std::max(most, sequence.tokens);
    longest = std::max(longest, sequence.first_position + sequence.tokens);
  }
  // As little as possible may differ between two steps, so that one recording serves them.
  if (!step_.has_prompts) longest = recorded_length(longest);
  const int64_t stride = (longest + step_.page_tokens - 1) / step_.page_tokens;
  const auto [first_row, own_first_row] = room<int32_t>(count);
  const auto [tokens, own_tokens] = room<int32_t>(count);
  const auto [first_position, own_first_position] = room<int32_t>(count);
  const auto [pages, own_pages] = room<int32_t>(count * static_cast<size_t>(stride));
  const auto [row_sequence, own_row_sequence] = room<int32_t>(step_.tokens.size());
  out.first_row = own_first_row;
  out.tokens = own_tokens;
  out.first_position = own_first_position;
  out.pages = own_pages;
  out.table_stride = stride;
  out.row_sequence = own_row_sequence;
  out.sequences = static_cast<int32_t>(count);
  out.rows = static_cast<int32_t>(step_.tokens.size());
  out.most_tokens = static_cast<int32_t>(most);
  out.longest = static_cast<int32_t>(longest);
  if (host_ == nullptr) return out;
  for (size_t i = 0; i < count; ++i) {
    const SequenceRows& sequence = group[i];
    first_row[i] = static_cast<int32_t>(sequence.first_row);
    tokens[i] = static_cast<int32_t>(sequence.tokens);
    first_position[i] = static_cast<int32_t>(sequence.first_position);
    const int64_t length = sequence.first_position + sequence.tokens;
    const int64_t used = (length + step_.page_tokens - 1) / step_.page_tokens;
    std::copy_n(sequence.pages, used, pages + static_cast<int64_t>(i) * stride);
    std::fill_n(row_sequence + sequence.first_row, sequence.tokens, static_cast<int32_t>(i));
  }
  return out;
}

size_t StepWriter::size() {
  DeviceStep ignored;
  write(nullptr, nullptr, ignored);
  return used_;
}

void StepWriter::write(std::byte* host, std::byte* device, DeviceStep& out) {
  host_ = host;
  device_ = device;
  used_ = 0;
  out.count = static_cast<int32_t>(step_.tokens.size());
  out.tokens = ints(step_.tokens);
  out.position_rows = ints(step_.position_rows);
  const std::array lists{step_.output_rows, step_.hidden_rows};
  for (size_t i = 0; i < lists.size(); ++i) {
    out.row_counts[i] = static_cast<int32_t>(lists[i].size());
    out.rows[i] = ints(lists[i]);
  }
  out.groups.clear();
  for (const std::vector<SequenceRows>& group : step_.groups)
    out.groups.push_back(sequences(group));
  out.ropes.clear();
  for (const RopeAngles& rope : step_.ropes) {
    const auto count = step_.tokens.size() * static_cast<size_t>(rope.pairs);
    out.ropes.push_back({rope.pairing, values<float>({rope.cos, count}),
                         values<float>({rope.sin, count}), rope.pairs});
  }
}

}  // namespace ingot::cuda
