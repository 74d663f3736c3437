// SPDX-License-Identifier: Apache-2.0
#include "convert/convert_model.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/limits.h"
#include "base/mapped_file.h"
#include "convert/input_identity.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// Either container, as one.
struct ConvertTarget {
  std::vector<SourceTensor> tensors;
  std::vector<std::string> notes;
  GgufKeyValues values;
  std::map<std::string, std::string> metadata;
  std::vector<SideFile> files;
};

Result<ConvertTarget> plan_target(std::shared_ptr<const Checkpoint> input,
                                  const ConvertOptions& options) {
  ConvertTarget target;
  if (options.to_gguf) {
    INGOT_TRY(GgufPlan plan, plan_gguf(std::move(input), options.adapter));
    target.tensors = std::move(plan.tensors);
    target.notes = std::move(plan.notes);
    target.values = std::move(plan.values);
  } else {
    INGOT_TRY(SafetensorsPlan plan, plan_safetensors(std::move(input), options.adapter));
    if (plan.is_packed && options.type) {
      return Status::unsupported(
          "{}: its weights are quantized; convert it to GGUF with --outtype, or without --outtype",
          options.input.string());
    }
    target.tensors = std::move(plan.tensors);
    target.notes = std::move(plan.notes);
    target.metadata = std::move(plan.metadata);
    target.files = std::move(plan.files);
  }
  return target;
}

// config.json names the type of the weights.
Status set_dtype(Layout layout, std::vector<SideFile>& files) {
  const auto file = std::ranges::find(files, "config.json", &SideFile::name);
  if (file == files.end()) return Status::ok();
  std::string text = file->bytes;
  if (!file->copy_of.empty()) {
    INGOT_TRY(text, read_small_file(file->copy_of, limits::kConfigBytes));
  }
  INGOT_TRY(Json config, parse_json(text, "config.json"));
  const char* name = layout == Layout::kF16    ? "float16"
                     : layout == Layout::kBF16 ? "bfloat16"
                                               : "float32";
  const bool is_new = config.contains("dtype");
  if (is_new) config["dtype"] = name;
  if (!is_new || config.contains("torch_dtype")) config["torch_dtype"] = name;
  *file = {"config.json", dump_json(config, 2) + "\n", {}};
  return Status::ok();
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
  INGOT_TRY(ConvertTarget target, plan_target(input, options));
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
  if (!options.to_gguf && options.type) INGOT_TRY(set_dtype(*options.type, target.files));
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
  INGOT_TRY(input->check_intact());  // bytes were copied from the mapping
  INGOT_TRY(writer->commit());
  return report;
}

}  // namespace ingot
