// SPDX-License-Identifier: Apache-2.0
#include "convert/weight_rows.h"

#include <algorithm>
#include <utility>

#include "convert/exact_repack.h"
#include "convert/lora.h"
#include "model/module_name.h"

namespace ingot {
namespace {

ModelOptions one_thread() {
  ModelOptions options;
  options.threads = 1;
  options.checks_tensors = false;  // `ingot verify` does; a conversion keeps what is there
  return options;
}

// Column `col` of a stored [rows, cols] matrix of plain elements.
void read_column(const TensorView& view, uint64_t col, std::span<float> out) {
  const size_t size = info(view.layout).block_bytes;
  const uint64_t stride = view.row_bytes();
  for (size_t i = 0; i < out.size(); ++i)
    dequantize(view.layout, view.bytes.subspan(i * stride + col * size, size), out.subspan(i, 1));
}

}  // namespace

std::vector<RowPart> row_parts(const TensorSource& source, int64_t rows) {
  std::vector<RowPart> parts;
  for (const TensorPart& part : source.parts) {
    int64_t count = 0;
    for (const RowRange& range : part.rows)
      count += range.end - range.begin;
    // Whole tensors are all alike where several are stacked (one norm a head).
    if (part.rows.empty()) count = rows / static_cast<int64_t>(source.parts.size());
    parts.push_back({part, count});
  }
  return parts;
}

WeightInput::WeightInput(std::shared_ptr<const Checkpoint> checkpoint, ModelPlan plan,
                         std::shared_ptr<const LoraAdapter> adapter)
    : checkpoint_(std::move(checkpoint)),
      plan_(std::move(plan)),
      adapter_(std::move(adapter)),
      options_(one_thread()),
      binder_(*checkpoint_, plan_, options_) {}

const TensorEntry* WeightInput::find(const std::string& name) const {
  for (const std::string& spelling : plan_.weights.spellings(name)) {
    if (const TensorEntry* entry = checkpoint_->find(spelling)) return entry;
  }
  return nullptr;
}

Result<std::shared_ptr<const QuantTensor>> WeightInput::quantized(const RowPart& part,
                                                                  int64_t cols) const {
  const std::scoped_lock lock(mutex_);
  if (last_ != nullptr && last_part_ == part.part) return last_;
  INGOT_TRY(std::optional<QuantTensor> tensor,
            binder_.quantized(TensorSource::from_part(part.part), part.rows, cols));
  if (!tensor) return std::shared_ptr<const QuantTensor>();
  last_ = std::make_shared<const QuantTensor>(*std::move(tensor));
  last_part_ = part.part;
  return last_;
}

Result<std::shared_ptr<const WeightRows>> WeightRows::open(std::shared_ptr<const WeightInput> input,
                                                           std::vector<RowPart> parts,
                                                           int64_t cols) {
  std::shared_ptr<WeightRows> rows(new WeightRows);
  rows->cols_ = cols;
  rows->input_ = std::move(input);
  for (RowPart& part : parts)
    INGOT_TRY(rows->add(std::move(part)));
  return std::shared_ptr<const WeightRows>(std::move(rows));
}

Status WeightRows::add(RowPart part) {
  Segment segment;
  const std::string& name = part.part.name;
  segment.module = module_of(name);
  std::shared_ptr<const QuantTensor> quantized;
  if (cols_ > 1) {
    INGOT_TRY(quantized, input_->quantized(part, cols_));
  }
  Layout layout = Layout::kF32;
  std::optional<Layout> exact;
  if (quantized != nullptr) {
    const LoraAdapter* adapter = input_->adapter();
    if (adapter == nullptr || !adapter->has(segment.module)) exact = exact_layout(*quantized);
  } else {
    segment.entry = input_->find(name);
    INGOT_TRY(check_entry(part, segment.entry));
    layout = segment.entry->tensor.layout;
  }
  const bool is_first = segments_.empty();
  is_quantized_ |= quantized != nullptr || info(layout).is_quantized;
  exact_ = is_first ? exact : common_layout(exact_, exact);
  natural_ = is_first || natural_ == layout ? layout : Layout::kF32;
  int64_t start = 0;
  for (const RowRange& range : part.part.rows) {
    segment.starts.push_back(start);
    start += range.end - range.begin;
  }
  rows_ += part.rows;
  segment.part = std::move(part);
  segments_.push_back(std::move(segment));
  return Status::ok();
}

// There, of the width that is wanted, and with all the rows that are.
Status WeightRows::check_entry(const RowPart& part, const TensorEntry* entry) const {
  const std::string& file = input_->checkpoint().name();
  const std::string& name = part.part.name;
  if (entry == nullptr) {
    return Status::invalid_data(
        "{}: tensor '{}' is missing; the checkpoint is incomplete or not of this architecture",
        file, name);
  }
  const TensorView& view = entry->tensor;
  const bool is_vector = cols_ == 1;
  const bool is_whole = part.part.rows.empty();
  uint64_t stored_rows = is_vector ? view.shape.elements().value_or(0) : view.rows();
  uint64_t stored_cols = is_vector ? 1 : view.cols();
  if (part.part.is_transposed && !is_vector) std::swap(stored_rows, stored_cols);
  int64_t end = is_whole ? part.rows : 0;
  for (const RowRange& range : part.part.rows)
    end = std::max(end, range.end);
  if (stored_cols != static_cast<uint64_t>(cols_) || stored_rows < static_cast<uint64_t>(end) ||
      (is_whole && stored_rows != static_cast<uint64_t>(end))) {
    return Status::invalid_data("{}: tensor '{}' is {} where the configuration needs [{}, {}]",
                                file, name, view.shape.to_string(), end, cols_);
  }
  if ((part.part.is_transposed || is_vector) && info(view.layout).block_elements != 1) {
    return Status::unsupported("{}: tensor '{}' of type {} cannot be taken apart", file, name,
                               info(view.layout).name);
  }
  return Status::ok();
}

int64_t WeightRows::file_row(const Segment& segment, int64_t row) const {
  const std::vector<RowRange>& ranges = segment.part.part.rows;
  if (ranges.empty()) return row;
  const auto after = std::ranges::upper_bound(segment.starts, row);
  const auto index = static_cast<size_t>(after - segment.starts.begin()) - 1;
  return ranges[index].begin + (row - segment.starts[index]);
}

Status WeightRows::read_segment(const Segment& segment, int64_t begin, int64_t end,
                                std::span<float> out) const {
  const auto width = static_cast<size_t>(cols_);
  std::shared_ptr<const QuantTensor> quantized;
  if (segment.entry == nullptr) {
    INGOT_TRY(quantized, input_->quantized(segment.part, cols_));
    INGOT_CHECK(quantized != nullptr);
  }
  for (int64_t row = begin; row < end; ++row) {
    const std::span<float> to = out.subspan(static_cast<size_t>(row - begin) * width, width);
    const int64_t from = file_row(segment, row);
    if (quantized != nullptr) {
      dequantize_row(*quantized, row, to);
    } else if (cols_ == 1) {
      const TensorView& view = segment.entry->tensor;
      const size_t size = info(view.layout).block_bytes;
      dequantize(view.layout, view.bytes.subspan(static_cast<size_t>(from) * size, size), to);
    } else if (segment.part.part.is_transposed) {
      read_column(segment.entry->tensor, static_cast<uint64_t>(from), to);
    } else {
      const TensorView& view = segment.entry->tensor;
      const uint64_t stride = view.row_bytes();
      dequantize(view.layout, view.bytes.subspan(static_cast<uint64_t>(from) * stride, stride), to);
    }
    if (input_->adapter() != nullptr) INGOT_TRY(input_->adapter()->add(segment.module, from, to));
  }
  return Status::ok();
}

Status WeightRows::read(int64_t begin, int64_t end, std::span<float> out) const {
  INGOT_CHECK(begin >= 0 && begin <= end && end <= rows_ &&
              out.size() == static_cast<size_t>((end - begin) * cols_));
  int64_t start = 0;
  for (const Segment& segment : segments_) {
    const int64_t from = std::max(begin, start);
    const int64_t to = std::min(end, start + segment.part.rows);
    if (from < to) {
      INGOT_TRY(read_segment(segment, from - start, to - start,
                             out.subspan(static_cast<size_t>((from - begin) * cols_),
                                         static_cast<size_t>((to - from) * cols_))));
    }
    start += segment.part.rows;
  }
  return input_->checkpoint().check_intact();
}

Status WeightRows::read_exact(int64_t begin, int64_t end, std::span<std::byte> out) const {
  INGOT_CHECK(exact_.has_value() && begin >= 0 && begin <= end && end <= rows_);
  const size_t row_bytes = *storage_bytes(*exact_, static_cast<uint64_t>(cols_)).value();
  INGOT_CHECK(out.size() == static_cast<size_t>(end - begin) * row_bytes);
  int64_t start = 0;
  for (const Segment& segment : segments_) {
    const int64_t from = std::max(begin, start);
    const int64_t to = std::min(end, start + segment.part.rows);
    if (from < to) {
      INGOT_TRY(const auto tensor, input_->quantized(segment.part, cols_));
      INGOT_CHECK(tensor != nullptr);
      for (int64_t row = from; row < to; ++row) {
        repack_row(*tensor, row - start, *exact_,
                   out.subspan(static_cast<size_t>(row - begin) * row_bytes, row_bytes));
      }
    }
    start += segment.part.rows;
  }
  return input_->checkpoint().check_intact();
}

std::optional<TensorView> WeightRows::plain() const {
  if (segments_.size() != 1 || segments_[0].entry == nullptr) return std::nullopt;
  const Segment& segment = segments_[0];
  if (segment.part.part.is_transposed) return std::nullopt;
  if (input_->adapter() != nullptr && input_->adapter()->has(segment.module)) return std::nullopt;
  const TensorView& view = segment.entry->tensor;
  const std::vector<RowRange>& ranges = segment.part.part.rows;
  if (ranges.size() > 1) return std::nullopt;
  if (ranges.empty()) return view;
  if (cols_ == 1) {
    const size_t size = info(view.layout).block_bytes;
    const auto count = static_cast<uint64_t>(ranges[0].end - ranges[0].begin);
    return TensorView{
        view.layout, Shape{count},
        view.bytes.subspan(static_cast<size_t>(ranges[0].begin) * size, count * size)};
  }
  return view.row_range(static_cast<uint64_t>(ranges[0].begin),
                        static_cast<uint64_t>(ranges[0].end));
}

}  // namespace ingot
