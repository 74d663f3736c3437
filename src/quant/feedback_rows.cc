// SPDX-License-Identifier: Apache-2.0
#include "quant/feedback_rows.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "blocks/layout.h"
#include "quant/encoders.h"
#include "quant/matrix_index.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

constexpr int64_t kWidth = 256;   // columns of a K block
constexpr int64_t kTogether = 8;  // rows whose scales are fitted in one call: fills the lanes

int top_code(Layout layout) {
  switch (layout) {
    case Layout::kQ2_K:
      return 3;
    case Layout::kQ3_K:
      return 7;
    case Layout::kQ4_K:
      return 15;
    case Layout::kQ5_K:
      return 31;
    case Layout::kQ6_K:
      return 63;
    default:
      return 0;
  }
}

// Where the lowest code of each weight lies, and the way to the next.
struct BlockLevels {
  float low[kWidth];
  float step[kWidth];
};

// One matrix on its way.
class FeedbackRun {
 public:
  FeedbackRun(Layout layout, std::span<const float> weights, const Feedback& feedback,
              std::span<std::byte> out, const Exec& exec, TargetSet targets)
      : layout_(layout),
        weights_(weights),
        feedback_(feedback),
        out_(out),
        exec_(exec),
        targets_(targets),
        top_(top_code(layout)),
        block_bytes_(info(layout).block_bytes),
        replace_(quant::generic::find_code_replacer(layout)),
        cols_(feedback.cols),
        rows_(std::ssize(weights) / feedback.cols),
        errors_(weights.size()),
        fed_(index(rows_ * kWidth)) {}

  Status run() {
    for (int64_t first = 0; first < cols_; first += kWidth) {
      INGOT_TRY(feed_errors(feedback_, errors_, first, kWidth, fed_, exec_, targets_));
      exec_.for_ranges(rows_, kTogether, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row += kTogether)
          run_blocks(row, std::min(row + kTogether, end), first);
      });
    }
    return Status::ok();
  }

 private:
  void run_blocks(int64_t row_begin, int64_t row_end, int64_t first) {
    float wanted[kTogether * kWidth];
    std::byte blocks[kTogether * 256];
    for (int64_t row = row_begin; row < row_end; ++row) {
      for (int64_t i = 0; i < kWidth; ++i) {
        wanted[(row - row_begin) * kWidth + i] =
            weights_[index(row * cols_ + first + i)] + fed_[index(row * kWidth + i)];
      }
    }
    const size_t count = index(row_end - row_begin);
    INGOT_CHECK(block_bytes_ <= 256);
    quantize_rows(layout_, std::span(wanted).first(count * kWidth), kWidth,
                  std::span(feedback_.d).subspan(index(first), kWidth),
                  std::span(blocks).first(count * block_bytes_));
    for (int64_t row = row_begin; row < row_end; ++row) {
      std::byte* block = blocks + index(row - row_begin) * block_bytes_;
      choose_codes(row, first, block);
      std::copy_n(block, block_bytes_,
                  out_.data() + index((row * cols_ + first) / kWidth) * block_bytes_);
    }
  }

  // What a reader makes of the block's scales, whatever their form.
  BlockLevels read_levels(std::byte* block) const {
    BlockLevels levels;
    float high[kWidth];
    uint8_t codes[kWidth] = {};
    replace_(codes, block);
    dequantize(layout_, std::span(block, block_bytes_), levels.low);
    std::fill_n(codes, kWidth, static_cast<uint8_t>(top_));
    replace_(codes, block);
    dequantize(layout_, std::span(block, block_bytes_), high);
    for (int64_t i = 0; i < kWidth; ++i)
      levels.step[i] = (high[i] - levels.low[i]) / static_cast<float>(top_);
    return levels;
  }

  void choose_codes(int64_t row, int64_t first, std::byte* block) {
    const BlockLevels levels = read_levels(block);
    const float* weights = weights_.data() + row * cols_ + first;
    float* errors = errors_.data() + row * cols_ + first;
    float* fed = fed_.data() + row * kWidth;
    uint8_t codes[kWidth];
    for (int64_t i = 0; i < kWidth; ++i) {
      const float step = levels.step[i];
      const float place = step != 0 ? (weights[i] + fed[i] - levels.low[i]) / step : 0.0F;
      // NaN becomes 0: a code is always in range.
      const float code = std::nearbyint(place > 0 ? std::min(place, static_cast<float>(top_)) : 0);
      codes[i] = static_cast<uint8_t>(code);
      errors[i] = weights[i] - (levels.low[i] + code * step);
      const float* r = feedback_.r.data() + (first + i) * cols_ + first;
      for (int64_t j = i + 1; j < kWidth; ++j)
        fed[j] += errors[i] * r[j];
    }
    replace_(codes, block);
  }

  Layout layout_;
  std::span<const float> weights_;
  const Feedback& feedback_;
  std::span<std::byte> out_;
  const Exec& exec_;
  TargetSet targets_;
  int top_;
  size_t block_bytes_;
  quant::CodeReplacer replace_;
  int64_t cols_;
  int64_t rows_;
  std::vector<float> errors_;  // w - q
  std::vector<float> fed_;     // [rows][kWidth]: what columns before the block hand to its own
};

}  // namespace

bool takes_feedback(Layout layout) {
  return top_code(layout) > 0;
}

Status quantize_rows_with_feedback(Layout layout, std::span<const float> weights,
                                   const Feedback& feedback, std::span<std::byte> out,
                                   const Exec& exec, TargetSet targets) {
  INGOT_CHECK(takes_feedback(layout) && feedback.order.empty());
  INGOT_CHECK(feedback.cols % kWidth == 0 && std::ssize(weights) % feedback.cols == 0);
  INGOT_CHECK(out.size() == storage_bytes(layout, weights.size()).value());
  return FeedbackRun(layout, weights, feedback, out, exec, targets).run();
}

}  // namespace ingot
