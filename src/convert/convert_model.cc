// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_model.h"

#include <algorithm>

#include "convert/input_identity.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// Either container, as one.
struct Target {
  std::vector<SourceTensor> tensors;
  std::vector<std::string> notes;
  GgufKeyValues values;
  std::map<std::string, std::string> metadata;
  std::vector<SideFile> files;
};

Result<Target> plan_target(std::shared_ptr<const Checkpoint> input, const ConvertOptions& options) {
  Target target;
  if (options.to_gguf) {
    INGOT_TRY(GgufPlan plan, plan_gguf(std::move(input), options.adapter));
    target.tensors = std::move(plan.tensors);
    target.notes = std::move(plan.notes);
    target.values = std::move(plan.values);
  } else {
    INGOT_TRY(SafetensorsPlan plan, plan_safetensors(std::move(input), options.adapter));
    target.tensors = std::move(plan.tensors);
    target.notes = std::move(plan.notes);
    target.metadata = std::move(plan.metadata);
    target.files = std::move(plan.files);
  }
  return target;
}

// The input must stay: neither the output itself nor a part of it.
Status check_apart(const ConvertOptions& options) {
  std::error_code error;
  const fs::path input = fs::weakly_canonical(options.input, error);
  const fs::path output = fs::weakly_canonical(options.output, error);
  const bool is_same = input == output || fs::equivalent(options.input, options.output, error) ||
                       (!options.to_gguf && input.parent_path() == output);
  if (!is_same) return Status::ok();
  return Status::invalid_argument("{}: is the input; give another path", options.output.string());
}

std::string plan_identity(const ConvertOptions& options) {
  return fmt::format("convert {} {}\n{}{}", options.to_gguf ? "gguf" : "safetensors",
                     options.type ? info(*options.type).name : "auto",
                     input_identity(options.input), options.adapter_identity);
}

Status check_exact(const CastChoice& choice, const ConvertOptions& options) {
  if (choice.widened.empty() || options.type) return Status::ok();
  return Status::unsupported(
      "{}: {} quantized tensors, like '{}', have no type in {} that holds them exactly; give "
      "--outtype f32 or f16 to write plain numbers, or use `ingot quantize`",
      options.input.string(), choice.widened.size(), choice.widened.front(),
      options.to_gguf ? "GGUF" : "safetensors");
}

}  // namespace

Result<ConvertReport> convert_model(std::shared_ptr<const Checkpoint> input,
                                    const ConvertOptions& options,
                                    const ConvertProgress& progress) {
  INGOT_TRY(check_apart(options));
  INGOT_TRY(Target target, plan_target(std::move(input), options));
  const CastChoice choice = choose_casts(target.tensors, options.type, options.to_gguf);
  INGOT_TRY(check_exact(choice, options));
  ConvertReport report;
  report.notes = std::move(target.notes);
  report.tensors = choice.tensors.size();
  report.size_bytes = choice.size_bytes;
  if (choice.is_lossy) {
    report.notes.push_back(fmt::format("values are rounded to {}", info(*options.type).name));
  }
  WriterOptions writing;
  writing.plan = plan_identity(options);
  writing.overwrites = options.overwrites;
  if (options.shard_bytes > 0) writing.shard_bytes = writing.split_bytes = options.shard_bytes;
  if (options.to_gguf) set_file_type(choice, target.values);
  INGOT_TRY(const auto writer,
            options.to_gguf ? create_gguf(options.output, target.values, choice.tensors, writing)
                            : create_safetensors(options.output, target.metadata, choice.tensors,
                                                 std::move(target.files), writing));
  for (size_t i = 0; i < writer->size(); ++i)
    report.resumed += writer->is_done(i) ? 1 : 0;
  uint64_t done = 0;
  INGOT_TRY(write_tensors(target.tensors, choice, *writer, [&](uint64_t bytes) {
    done += bytes;
    if (progress && choice.size_bytes > 0)
      progress(static_cast<double>(done) / static_cast<double>(choice.size_bytes));
  }));
  INGOT_TRY(writer->commit());
  return report;
}

}  // namespace ingot
