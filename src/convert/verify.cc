// SPDX-License-Identifier: Apache-2.0
#include "convert/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/mapped_file.h"
#include "convert/role_tensors.h"
#include "convert/source_tensor.h"
#include "convert/weight_rows.h"

namespace ingot {
namespace {

constexpr uint64_t kPieceElements = 1 << 20;

bool is_finite_tensor(const TensorView& tensor) {
  const LayoutInfo& layout = info(tensor.layout);
  const uint64_t piece = kPieceElements / layout.block_elements * layout.block_bytes;
  for (uint64_t at = 0; at < tensor.bytes.size(); at += piece) {
    const auto bytes =
        tensor.bytes.subspan(at, std::min<uint64_t>(piece, tensor.bytes.size() - at));
    if (!is_finite(tensor.layout, bytes)) return false;
  }
  return true;
}

// Codes of bitsandbytes may be stored under any type: their bits are no numbers.
bool holds_numbers(const TensorEntry& entry) {
  return info(entry.tensor.layout).is_quantized || entry.tensor.layout == Layout::kF32 ||
         entry.tensor.layout == Layout::kF16 || entry.tensor.layout == Layout::kBF16 ||
         entry.tensor.layout == Layout::kF64;
}

// Every weight of the architecture, found and of the right shape.
void check_weights(const std::shared_ptr<const Checkpoint>& checkpoint, VerifyReport& report) {
  auto plan = plan_model(*checkpoint);
  if (!plan.is_ok()) {
    const bool is_unknown = plan.status().code() == StatusCode::kUnsupported ||
                            plan.status().code() == StatusCode::kNotFound;
    (is_unknown ? report.notes : report.problems).push_back(plan.status().message());
    return;
  }
  const auto input = std::make_shared<const WeightInput>(checkpoint, *std::move(plan), nullptr);
  for (const RoleTensor& role : role_tensors(*input, {})) {
    const bool is_matrix = role.kind != TensorKind::kNorm && role.kind != TensorKind::kBias;
    const auto rows = WeightRows::open(input, role.parts,
                                       is_matrix ? static_cast<int64_t>(role.shape.back()) : 1);
    if (!rows.is_ok()) report.problems.push_back(rows.status().message());
  }
}

Status compare_rows(const SourceTensor& a, const SourceTensor& b, VerifiedTensor& out) {
  const int64_t cols = a.cols();
  const int64_t step =
      std::max<int64_t>(1, static_cast<int64_t>(kPieceElements) / std::max<int64_t>(cols, 1));
  std::vector<float> left(static_cast<size_t>(std::min(step, a.rows()) * cols));
  std::vector<float> right(left.size());
  for (int64_t row = 0; row < a.rows(); row += step) {
    const int64_t end = std::min(a.rows(), row + step);
    const auto count = static_cast<size_t>((end - row) * cols);
    INGOT_TRY(a.read_rows(row, end, std::span(left).first(count)));
    INGOT_TRY(b.read_rows(row, end, std::span(right).first(count)));
    for (size_t i = 0; i < count; ++i) {
      const double difference =
          std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
      if (!(difference <= out.max_difference)) out.max_difference = difference;  // NaN too
      out.max_value = std::max(out.max_value, std::abs(static_cast<double>(right[i])));
    }
  }
  return Status::ok();
}

bool is_same_bytes(const SourceTensor& a, const SourceTensor& b) {
  if (a.natural != b.natural || a.shape != b.shape) return false;
  const auto left = a.plain();
  const auto right = b.plain();
  return left.is_ok() && right.is_ok() && left->bytes.size() == right->bytes.size() &&
         std::memcmp(left->bytes.data(), right->bytes.data(), left->bytes.size()) == 0;
}

// Tensors under names that both have: the files' own, or GGUF's where the containers differ.
Result<std::vector<SourceTensor>> tensors_of(const std::shared_ptr<const Checkpoint>& checkpoint,
                                             bool as_gguf) {
  if (as_gguf) {
    INGOT_TRY(GgufPlan plan, plan_gguf(checkpoint));
    return std::move(plan.tensors);
  }
  if (checkpoint->gguf_metadata() != nullptr) {
    INGOT_TRY(GgufPlan plan, plan_gguf(checkpoint));
    return std::move(plan.tensors);
  }
  INGOT_TRY(SafetensorsPlan plan, plan_safetensors(checkpoint));
  return std::move(plan.tensors);
}

void judge(const VerifiedTensor& tensor, double tolerance, VerifyReport& report) {
  if (tensor.is_identical) return;
  const double bound = tolerance * std::max(tensor.max_value, 1e-30);
  if (tensor.max_difference <= bound) return;
  report.problems.push_back(
      fmt::format("tensor '{}' differs by {:.3g} where the other has up to {:.3g}", tensor.name,
                  tensor.max_difference, tensor.max_value));
}

Status compare(const std::shared_ptr<const Checkpoint>& checkpoint, const VerifyOptions& options,
               VerifyReport& report) {
  const bool is_mixed =
      (checkpoint->gguf_metadata() == nullptr) != (options.against->gguf_metadata() == nullptr);
  INGOT_TRY(const std::vector<SourceTensor> ours, tensors_of(checkpoint, is_mixed));
  INGOT_TRY(const std::vector<SourceTensor> theirs, tensors_of(options.against, is_mixed));
  std::map<std::string_view, const SourceTensor*> by_name;
  for (const SourceTensor& tensor : theirs)
    by_name.emplace(tensor.name, &tensor);
  std::map<std::string_view, VerifiedTensor*> listed;
  for (VerifiedTensor& tensor : report.tensors)
    listed.emplace(tensor.name, &tensor);
  for (size_t i = 0; i < ours.size(); ++i) {
    const SourceTensor& tensor = ours[i];
    const auto other = by_name.find(tensor.name);
    if (other == by_name.end()) {
      report.problems.push_back(fmt::format("tensor '{}' is not in the other model", tensor.name));
      continue;
    }
    VerifiedTensor own;
    own.name = tensor.name;
    const auto found = listed.find(tensor.name);
    VerifiedTensor& result = found == listed.end() ? own : *found->second;
    result.is_compared = true;
    if (tensor.shape != other->second->shape) {
      report.problems.push_back(fmt::format("tensor '{}' is {}, and {} in the other model",
                                            tensor.name, tensor.shape.to_string(),
                                            other->second->shape.to_string()));
    } else {
      result.is_identical = is_same_bytes(tensor, *other->second);
      if (!result.is_identical) INGOT_TRY(compare_rows(tensor, *other->second, result));
      judge(result, options.tolerance, report);
    }
    by_name.erase(other);
    if (&result == &own && is_mixed) report.tensors.push_back(own);
    if (options.progress)
      options.progress(0.5 + 0.5 * static_cast<double>(i + 1) / static_cast<double>(ours.size()));
  }
  for (const auto& [name, tensor] : by_name)
    report.problems.push_back(fmt::format("tensor '{}' is only in the other model", name));
  return Status::ok();
}

}  // namespace

Result<VerifyReport> verify_model(std::shared_ptr<const Checkpoint> checkpoint,
                                  const VerifyOptions& options) {
  VerifyReport report;
  check_weights(checkpoint, report);
  uint64_t done = 0;
  const double share = options.against == nullptr ? 1.0 : 0.5;
  for (const TensorEntry* entry : checkpoint->tensors()) {
    VerifiedTensor tensor;
    tensor.name = entry->name;
    tensor.type = info(entry->tensor.layout).name;
    tensor.shape = entry->tensor.shape.to_string();
    tensor.is_finite = !holds_numbers(*entry) || is_finite_tensor(entry->tensor);
    if (options.hash) tensor.hash = options.hash(entry->tensor.bytes);
    if (!tensor.is_finite)
      report.problems.push_back(
          fmt::format("tensor '{}' holds NaN or infinite values", tensor.name));
    MappedFile::release(entry->tensor.bytes);
    INGOT_TRY(checkpoint->check_intact());
    done += entry->tensor.bytes.size();
    if (options.progress && checkpoint->size_bytes() > 0) {
      options.progress(share * static_cast<double>(done) /
                       static_cast<double>(checkpoint->size_bytes()));
    }
    report.tensors.push_back(std::move(tensor));
  }
  if (options.against != nullptr) INGOT_TRY(compare(checkpoint, options, report));
  return report;
}

}  // namespace ingot
