// SPDX-License-Identifier: Apache-2.0
#include "compress/compress_gguf.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "base/checksum.h"
#include "compress/gguf_feedback.h"
#include "convert/input_identity.h"
#include "formats/tensor_writer.h"
#include "model/mapper.h"
#include "model/module_name.h"
#include "quant/feedback_rows.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

constexpr int64_t kPieceFloats = 4 << 20;
constexpr double kFeedbackShare = 0.9;  // of the time

class GgufCompressor {
 public:
  GgufCompressor(std::shared_ptr<const Checkpoint> input, const std::filesystem::path& path,
                 const GgufCompressOptions& options)
      : input_(std::move(input)), path_(path), options_(options), pool_(options.threads) {}

  Result<GgufCompressReport> run() {
    INGOT_TRY(const ModelPlan model, plan_model(*input_));
    INGOT_TRY(plan_, plan_gguf(input_));
    report_.notes = plan_.notes;
    INGOT_TRY(choose(model.spec));
    set_keys();
    WriterOptions writer_options;
    writer_options.overwrites = options_.overwrites;
    writer_options.split_bytes = options_.split_bytes;
    writer_options.plan =
        fmt::format("{}\nimportance {} feedback {}", input_identity(input_->name()),
                    importance_hash(), options_.samples.empty() ? "none" : samples_hash());
    INGOT_TRY(const auto writer, create_gguf(path_, plan_.values, planned_, writer_options));
    for (size_t i = 0; i < writer->size(); ++i)
      report_.was_resumed = report_.was_resumed || writer->is_done(i);
    if (!options_.samples.empty()) INGOT_TRY(write_with_feedback(model, *writer));
    // What is left has the rest of the bar.
    const double begun = options_.samples.empty() ? 0.0 : kFeedbackShare;
    uint64_t done = 0;
    for (size_t i = 0; i < planned_.size(); ++i) {
      if (options_.progress) {
        options_.progress(planned_[i].name, begun + (1 - begun) * static_cast<double>(done) /
                                                        static_cast<double>(report_.bytes));
      }
      if (!writer->is_done(i)) INGOT_TRY(write(i, *writer));
      done += writer->size_bytes(i);
    }
    INGOT_TRY(writer->commit());
    return report_;
  }

 private:
  Status choose(const ModelSpec& spec) {
    std::vector<GgufTensor> tensors;
    for (const SourceTensor& source : plan_.tensors) {
      INGOT_TRY(const std::span<const float> importance,
                importance_of(options_.importance, source));
      tensors.push_back({source.name, source.shape, !importance.empty()});
    }
    INGOT_TRY(const std::vector<Layout> layouts, choose_types(tensors, spec, options_.types));
    double weights = 0;
    double bits = 0;
    for (size_t i = 0; i < layouts.size(); ++i) {
      const SourceTensor& source = plan_.tensors[i];
      planned_.push_back({source.name, layouts[i], source.shape});
      const uint64_t count = source.shape.elements().value_or(0);
      const uint64_t bytes = storage_bytes(layouts[i], count).value_or(0);
      report_.bytes += bytes;
      ++report_.tensors_by_type[std::string(info(layouts[i]).name)];
      if (!is_quantizable(tensors[i])) continue;
      report_.was_quantized = report_.was_quantized || source.is_quantized;
      weights += static_cast<double>(count);
      bits += 8 * static_cast<double>(bytes);
    }
    if (weights > 0) report_.bits_per_weight = bits / weights;
    return Status::ok();
  }

  void set_keys() {
    plan_.values.set("general.quantization_version", uint32_t{2});
    plan_.values.set("general.file_type", file_type_of(options_.types));
    if (options_.importance == nullptr) return;
    const ImportanceMatrix& importance = *options_.importance;
    plan_.values.set("quantize.imatrix.file", options_.importance_name);
    plan_.values.set("quantize.imatrix.dataset", importance.dataset);
    plan_.values.set("quantize.imatrix.entries_count",
                     static_cast<uint32_t>(importance.columns.size()));
    const int64_t chunk = std::max<int64_t>(1, importance.chunk_size);
    plan_.values.set("quantize.imatrix.chunks_count",
                     static_cast<uint32_t>((importance.tokens + chunk - 1) / chunk));
  }

  std::string importance_hash() const {
    if (options_.importance == nullptr) return "none";
    std::string text;
    for (const auto& [name, columns] : options_.importance->columns)
      text += fmt::format("{} {:x}\n", name, checksum64(std::as_bytes(std::span(columns))));
    return fmt::format("{:x}", checksum64(std::as_bytes(std::span(text))));
  }

  std::string samples_hash() const {
    std::string text;
    for (const auto& sample : options_.samples)
      text += fmt::format("{} {:x}\n", sample.size(), checksum64(std::as_bytes(std::span(sample))));
    return fmt::format("{:x}", checksum64(std::as_bytes(std::span(text))));
  }

  // The tensors of layers whose types take it; what is not written here is written without.
  Status write_with_feedback(const ModelPlan& model, TensorWriter& writer) {
    WalkOptions walk_options;
    walk_options.threads = options_.threads;
    INGOT_TRY(LayerWalk walk, LayerWalk::create(input_, model, options_.samples, walk_options));
    const auto index_of = [&](const SourceTensor& tensor) {
      return static_cast<size_t>(&tensor - plan_.tensors.data());
    };
    FeedbackWalk visitor;
    visitor.wants = [&](const SourceTensor& tensor) {
      const size_t index = index_of(tensor);
      return takes_feedback(planned_[index].layout) && tensor.natural != planned_[index].layout &&
             !writer.is_done(index);
    };
    visitor.write = [&](const SourceTensor& tensor, const Feedback& feedback, const Exec& exec) {
      return write_fed_back(tensor, index_of(tensor), feedback, exec, walk.targets(), writer);
    };
    visitor.progress = [&](size_t layer, size_t layers) {
      if (!options_.progress) return;
      options_.progress(fmt::format("layer {} of {}", layer + 1, layers),
                        kFeedbackShare * static_cast<double>(layer) / static_cast<double>(layers));
    };
    INGOT_TRY(const std::vector<std::string> notes,
              walk_with_feedback(plan_.tensors, walk, visitor));
    report_.notes.insert(report_.notes.end(), notes.begin(), notes.end());
    return Status::ok();
  }

  Status write_fed_back(const SourceTensor& source, size_t index, const Feedback& feedback,
                        const Exec& exec, TargetSet targets, TensorWriter& writer) {
    const Layout layout = planned_[index].layout;
    const int64_t rows = source.rows();
    const int64_t cols = source.cols();
    const uint64_t row_bytes = storage_bytes(layout, static_cast<uint64_t>(cols)).value_or(0);
    const int64_t step = std::max<int64_t>(1, kPieceFloats / cols);
    std::vector<float> values;
    std::vector<std::byte> bytes;
    for (int64_t row = 0; row < rows; row += step) {
      const int64_t end = std::min(rows, row + step);
      values.resize(static_cast<size_t>((end - row) * cols));
      bytes.resize(static_cast<size_t>(end - row) * row_bytes);
      INGOT_TRY(source.read_rows(row, end, values));
      INGOT_TRY(quantize_rows_with_feedback(layout, values, feedback, bytes, exec, targets));
      INGOT_TRY(writer.write_part(index, static_cast<uint64_t>(row) * row_bytes, bytes));
    }
    INGOT_TRY(input_->check_intact());
    ++report_.fed_back;
    return writer.finish(index);
  }

  Status write(size_t index, TensorWriter& writer) {
    const SourceTensor& source = plan_.tensors[index];
    const Layout layout = planned_[index].layout;
    if (source.natural == layout) {
      if (const Result<TensorView> plain = source.plain(); plain.is_ok()) {
        INGOT_TRY(writer.write(index, plain->bytes));
        MappedFile::release(plain->bytes);
        return input_->check_intact();
      }
    }
    INGOT_TRY(const std::span<const float> importance, importance_of(options_.importance, source));
    const int64_t rows = source.rows();
    const int64_t cols = source.cols();
    const uint64_t row_bytes = storage_bytes(layout, static_cast<uint64_t>(cols)).value_or(0);
    const int64_t step = std::max<int64_t>(1, kPieceFloats / std::max<int64_t>(1, cols));
    std::vector<std::byte> bytes;
    for (int64_t row = 0; row < rows; row += step) {
      const int64_t end = std::min(rows, row + step);
      bytes.resize(static_cast<size_t>(end - row) * row_bytes);
      INGOT_TRY(encode_rows(source, layout, importance, row, end, bytes, Exec(pool_)));
      INGOT_TRY(writer.write_part(index, static_cast<uint64_t>(row) * row_bytes, bytes));
    }
    INGOT_TRY(input_->check_intact());
    return writer.finish(index);
  }

  std::shared_ptr<const Checkpoint> input_;
  const std::filesystem::path& path_;
  const GgufCompressOptions& options_;
  ThreadPool pool_;
  GgufPlan plan_;
  std::vector<PlannedTensor> planned_;
  GgufCompressReport report_;
};

}  // namespace

Result<std::span<const float>> importance_of(const ImportanceMatrix* importance,
                                             const SourceTensor& tensor) {
  if (importance == nullptr || tensor.shape.rank() < 2) return std::span<const float>();
  const std::vector<float>* columns = importance->find(module_of(tensor.name));
  if (columns == nullptr) columns = importance->find(module_of(tensor.hf_module));
  if (columns == nullptr) return std::span<const float>();
  if (std::ssize(*columns) != tensor.cols()) {
    return Status::invalid_data(
        "the importance matrix has {} columns for '{}', which has {}: it is of another model",
        columns->size(), tensor.name, tensor.cols());
  }
  return std::span<const float>(*columns);
}

std::vector<float> error_weights(std::span<const float> importance, Layout layout) {
  constexpr double kFewBits = 3.5;
  const LayoutInfo& facts = info(layout);
  const bool has_few_bits = 8.0 * facts.block_bytes < kFewBits * facts.block_elements;
  std::vector<float> weights(importance.begin(), importance.end());
  if (has_few_bits) return weights;
  for (float& weight : weights)
    weight = std::sqrt(weight);
  return weights;
}

Status encode_rows(const SourceTensor& source, Layout layout, std::span<const float> importance,
                   int64_t row_begin, int64_t row_end, std::span<std::byte> out, const Exec& exec) {
  const int64_t cols = source.cols();
  const uint64_t row_bytes = out.size() / static_cast<uint64_t>(row_end - row_begin);
  const std::vector<float> weights = error_weights(importance, layout);
  std::mutex mutex;
  Status status = Status::ok();
  exec.for_chunks(row_end - row_begin, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> values(static_cast<size_t>((end - begin) * cols));
    const Status read = source.read_rows(row_begin + begin, row_begin + end, values);
    if (!read.is_ok()) {
      const std::lock_guard lock(mutex);
      status = read;
      return;
    }
    quantize_rows(layout, values, cols, weights,
                  out.subspan(static_cast<size_t>(begin) * row_bytes,
                              static_cast<size_t>(end - begin) * row_bytes));
  });
  return status;
}

Result<GgufCompressReport> compress_gguf(std::shared_ptr<const Checkpoint> input,
                                         const std::filesystem::path& path,
                                         const GgufCompressOptions& options) {
  return GgufCompressor(std::move(input), path, options).run();
}

}  // namespace ingot
