// SPDX-License-Identifier: Apache-2.0
#include "model/bind.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kernels/exec.h"
#include "model/module_name.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr int64_t kCheckGrainBytes = 1 << 20;

// Natural alignment of what a kernel loads as one value; packed blocks hold 16-bit scales.
size_t alignment_of(Layout layout) {
  const LayoutInfo& facts = info(layout);
  if (facts.block_elements == 1) return facts.block_bytes;
  return facts.is_quantized ? alignof(float) : 1;
}

bool is_aligned(const TensorView& view) {
  return reinterpret_cast<uintptr_t>(view.bytes.data()) % alignment_of(view.layout) == 0;
}

// The rows of `source` in the order of `ranges`, as one new matrix.
BoundTensor gather(const TensorView& source, std::span<const RowRange> ranges) {
  BoundTensor result;
  const uint64_t stride = source.row_bytes();
  uint64_t rows = 0;
  for (const RowRange& range : ranges)
    rows += static_cast<uint64_t>(range.end - range.begin);
  result.owned.reserve(rows * stride);
  for (const RowRange& range : ranges) {
    const TensorView piece =
        source.row_range(static_cast<uint64_t>(range.begin), static_cast<uint64_t>(range.end));
    result.owned.insert(result.owned.end(), piece.bytes.begin(), piece.bytes.end());
  }
  result.view = {source.layout, Shape{rows, source.cols()}, result.owned};
  return result;
}

// [in, out] to [out, in], element by element.
BoundTensor transpose(const TensorView& source) {
  BoundTensor result;
  const size_t size = info(source.layout).block_bytes;
  const uint64_t rows = source.rows();
  const uint64_t cols = source.cols();
  result.owned.resize(source.bytes.size());
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < cols; ++c) {
      std::memcpy(result.owned.data() + (c * rows + r) * size,
                  source.bytes.data() + (r * cols + c) * size, size);
    }
  }
  result.view = {source.layout, Shape{cols, rows}, result.owned};
  return result;
}

std::string name_of(const TensorSource& source) {
  return source.exists() ? source.parts.front().name : "?";
}

}  // namespace

TensorBinder::TensorBinder(const Checkpoint& checkpoint, const ModelPlan& plan,
                           const ModelOptions& options, const TensorOverlay* overlay)
    : checkpoint_(&checkpoint),
      weights_(&plan.weights),
      quantization_(&plan.quantization),
      options_(&options),
      overlay_(overlay),
      pool_(options.threads) {
  for (const TensorEntry* entry : checkpoint.tensors())
    total_bytes_ += entry->tensor.bytes.size();
}

const TensorEntry* TensorBinder::look_up(const TensorPart& part) const {
  for (const std::string& name : weights_->spellings(part.name)) {
    if (overlay_ != nullptr) {
      if (const TensorEntry* entry = overlay_->find(name)) return entry;
    }
    if (const TensorEntry* entry = checkpoint_->find(name)) return entry;
  }
  return nullptr;
}

bool TensorBinder::has(const TensorSource& source) const {
  return source.exists() && std::ranges::all_of(source.parts, [&](const TensorPart& part) {
           return look_up(part) != nullptr;
         });
}

Result<const TensorEntry*> TensorBinder::find(const TensorPart& part) {
  const TensorEntry* entry = look_up(part);
  if (entry == nullptr) {
    return Status::invalid_data(
        "{}: tensor '{}' is missing; the checkpoint is incomplete or not of this architecture",
        checkpoint_->name(), part.name);
  }
  if (used_.insert(entry).second) {
    parameters_ += static_cast<int64_t>(entry->tensor.shape.elements().value_or(0));
    if (options_->checks_tensors) INGOT_TRY(check_finite(*entry));
  }
  return entry;
}

Status TensorBinder::check_finite(const TensorEntry& entry) {
  const TensorView& tensor = entry.tensor;
  const LayoutInfo& facts = info(tensor.layout);
  const auto blocks = static_cast<int64_t>(tensor.bytes.size() / facts.block_bytes);
  std::atomic<bool> is_good{true};
  Exec(pool_).for_ranges(blocks, std::max<int64_t>(1, kCheckGrainBytes / facts.block_bytes),
                         [&](int64_t begin, int64_t end) {
                           const auto bytes = tensor.bytes.subspan(
                               static_cast<size_t>(begin) * facts.block_bytes,
                               static_cast<size_t>(end - begin) * facts.block_bytes);
                           if (!is_finite(tensor.layout, bytes)) is_good = false;
                         });
  INGOT_TRY(checkpoint_->check_intact());
  checked_bytes_ += tensor.bytes.size();
  if (options_->progress && total_bytes_ > 0) {
    options_->progress(static_cast<double>(checked_bytes_) / static_cast<double>(total_bytes_));
  }
  if (is_good) return Status::ok();
  return Status::invalid_data(
      "{}: tensor '{}' at offset {} holds NaN or infinite values; the file is corrupt, download it "
      "again (--no-check-tensors loads it all the same)",
      checkpoint_->name(), entry.name, entry.file_offset);
}

Result<BoundTensor> TensorBinder::part(const TensorPart& part) {
  INGOT_TRY(const TensorEntry* entry, find(part));
  BoundTensor bound;
  bound.view = entry->tensor;
  if (entry->tensor.shape.rank() == 1)
    bound.view.shape = Shape{entry->tensor.cols(), 1};  // a vector's rows
  if (!storage_bytes(bound.view.layout, CheckedSize(bound.view.cols())).is_valid()) {
    return Status::invalid_data(
        "{}: tensor '{}' has rows of {} values, which do not fill whole blocks of type {}",
        checkpoint_->name(), part.name, bound.view.cols(), info(bound.view.layout).name);
  }
  if (part.is_transposed) {
    if (info(bound.view.layout).block_elements != 1) {
      return Status::unsupported("{}: tensor '{}' of type {} cannot be transposed",
                                 checkpoint_->name(), part.name, info(bound.view.layout).name);
    }
    bound = transpose(bound.view);
  }
  for (const RowRange& range : part.rows) {
    if (range.begin < 0 || range.begin > range.end ||
        static_cast<uint64_t>(range.end) > bound.view.rows()) {
      return Status::invalid_data("{}: tensor '{}' has {} rows where the configuration needs {}",
                                  checkpoint_->name(), part.name, bound.view.rows(), range.end);
    }
  }
  if (part.rows.size() == 1 && bound.owned.empty()) {
    const RowRange& range = part.rows.front();
    bound.view =
        bound.view.row_range(static_cast<uint64_t>(range.begin), static_cast<uint64_t>(range.end));
  } else if (!part.rows.empty()) {
    bound = gather(bound.view, part.rows);
  }
  if (bound.owned.empty() && !is_aligned(bound.view)) {
    bound.owned.assign(bound.view.bytes.begin(), bound.view.bytes.end());
    bound.view.bytes = bound.owned;
  }
  return bound;
}

Result<BoundTensor> TensorBinder::matrix(const TensorSource& source, int64_t rows, int64_t cols) {
  INGOT_CHECK(source.exists());
  INGOT_TRY(BoundTensor bound, part(source.parts.front()));
  for (size_t i = 1; i < source.parts.size(); ++i) {
    INGOT_TRY(const BoundTensor next, part(source.parts[i]));
    if (next.view.layout != bound.view.layout || next.view.cols() != bound.view.cols()) {
      return Status::unsupported(
          "{}: tensors '{}' and '{}' must have one type and width to be joined",
          checkpoint_->name(), source.parts.front().name, source.parts[i].name);
    }
    if (bound.owned.empty()) bound.owned.assign(bound.view.bytes.begin(), bound.view.bytes.end());
    bound.owned.insert(bound.owned.end(), next.view.bytes.begin(), next.view.bytes.end());
    bound.view.shape = Shape{bound.view.rows() + next.view.rows(), bound.view.cols()};
    bound.view.bytes = bound.owned;
  }
  if (bound.view.rows() != static_cast<uint64_t>(rows) ||
      bound.view.cols() != static_cast<uint64_t>(cols)) {
    return Status::invalid_data(
        "{}: tensor '{}' gives [{}, {}] where the configuration needs [{}, {}]",
        checkpoint_->name(), name_of(source), bound.view.rows(), bound.view.cols(), rows, cols);
  }
  return bound;
}

Result<const TensorEntry*> TensorBinder::find_quantized(const std::string& module,
                                                        std::string_view suffix) {
  const TensorEntry* entry = look_up({module + std::string(suffix), {}, false});
  if (entry == nullptr || !used_.insert(entry).second || !options_->checks_tensors) return entry;
  // bitsandbytes may give its codes the type of any number.
  const bool is_codes = quantization_->method == QuantMethod::kBitsandbytes && suffix == ".weight";
  if (!is_codes) INGOT_TRY(check_finite(*entry));
  return entry;
}

Result<std::optional<QuantTensor>> TensorBinder::quantized(const TensorSource& source, int64_t rows,
                                                           int64_t cols) {
  if (!quantization_->is_quantized() || !source.exists()) return std::optional<QuantTensor>();
  const TensorPart& part = source.parts.front();
  if (!part.name.ends_with(kWeightSuffix)) return std::optional<QuantTensor>();
  if (overlay_ != nullptr && overlay_->find(part.name) != nullptr)
    return std::optional<QuantTensor>();
  const std::string name = module_of(part.name);
  std::vector<std::string> names;
  for (const std::string& spelling : weights_->spellings(part.name))
    names.push_back(module_of(spelling));
  const QuantModule module(checkpoint_->name(), std::move(names),
                           [&](std::string_view suffix) { return find_quantized(name, suffix); });
  INGOT_TRY(std::optional<QuantTensor> tensor, read_quant_weight(module, *quantization_, cols));
  if (!tensor) return tensor;
  if (source.parts.size() > 1) {
    return Status::unsupported("{}: quantized weights '{}' and '{}' cannot be joined",
                               checkpoint_->name(), part.name, source.parts[1].name);
  }
  for (const RowRange& range : part.rows) {
    if (range.begin < 0 || range.begin > range.end || range.end > tensor->rows) {
      return Status::invalid_data("{}: weight '{}' has {} rows where the configuration needs {}",
                                  checkpoint_->name(), name, tensor->rows, range.end);
    }
    for (int64_t row = range.begin; row < range.end; ++row)
      tensor->row_order.push_back(row);
  }
  if (tensor->matrix_rows() != rows) {
    return Status::invalid_data("{}: weight '{}' gives {} rows where the configuration needs {}",
                                checkpoint_->name(), name, tensor->matrix_rows(), rows);
  }
  const Status checked = tensor->check();
  if (!checked.is_ok()) {
    return Status(checked.code(),
                  fmt::format("{}: weight '{}': {}", checkpoint_->name(), name, checked.message()));
  }
  parameters_ += rows * cols;
  return tensor;
}

Result<std::vector<float>> TensorBinder::floats(const TensorSource& source) {
  std::vector<float> values;
  if (!source.exists() || (source.is_optional && !has(source))) return values;
  for (const TensorPart& piece : source.parts) {
    INGOT_TRY(const TensorEntry* entry, find(piece));
    const TensorView& tensor = entry->tensor;
    if (info(tensor.layout).is_quantized || piece.is_transposed) {
      return Status::unsupported("{}: tensor '{}' of type {} must be plain floats",
                                 checkpoint_->name(), piece.name, info(tensor.layout).name);
    }
    const auto elements = static_cast<int64_t>(tensor.shape.elements().value_or(0));
    const size_t size = info(tensor.layout).block_bytes;
    const std::vector<RowRange> whole = {{0, elements}};
    for (const RowRange& range : piece.rows.empty() ? whole : piece.rows) {
      if (range.begin < 0 || range.begin > range.end || range.end > elements) {
        return Status::invalid_data(
            "{}: tensor '{}' has {} values where the configuration needs {}", checkpoint_->name(),
            piece.name, elements, range.end);
      }
      const auto count = static_cast<size_t>(range.end - range.begin);
      const size_t at = values.size();
      values.resize(at + count);
      dequantize(tensor.layout,
                 tensor.bytes.subspan(static_cast<size_t>(range.begin) * size, count * size),
                 std::span(values).subspan(at));
    }
  }
  return values;
}

Result<std::vector<float>> TensorBinder::vector(const TensorSource& source, int64_t size) {
  INGOT_TRY(std::vector<float> values, floats(source));
  const bool is_absent = !source.exists() || (source.is_optional && values.empty());
  if (!is_absent && values.size() != static_cast<size_t>(size)) {
    return Status::invalid_data("{}: tensor '{}' gives {} values where the configuration needs {}",
                                checkpoint_->name(), name_of(source), values.size(), size);
  }
  return values;
}

std::vector<std::string> TensorBinder::unused() const {
  std::vector<std::string> names;
  for (const TensorEntry* entry : checkpoint_->tensors()) {
    if (!used_.contains(entry)) names.push_back(entry->name);
  }
  return names;
}

}  // namespace ingot
