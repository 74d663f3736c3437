// SPDX-License-Identifier: Apache-2.0
#include "compress/checkpoint_output.h"

#include <algorithm>
#include <set>

#include "base/checksum.h"
#include "base/float_types.h"
#include "convert/input_identity.h"
#include "model/module_name.h"
#include "model/quant/quant_module.h"

namespace ingot {
namespace {

constexpr uint64_t kCopyBytes = 16 << 20;

// What stands beside the weights and must go along: tokenizer, templates, generation settings.
std::vector<SideFile> side_files(const std::filesystem::path& folder, const std::string& config) {
  std::vector<SideFile> files = {{"config.json", config, {}}};
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error)) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.filename().string();
    const std::string extension = path.extension().string();
    const bool is_wanted = extension == ".json" || extension == ".model" || extension == ".jinja" ||
                           extension == ".txt" || name.starts_with("LICENSE") ||
                           name.starts_with("README");
    const bool is_replaced = name == "config.json" || name == "quantize_config.json" ||
                             name == "hf_quant_config.json" ||
                             name.ends_with(".safetensors.index.json");
    if (is_wanted && !is_replaced) files.push_back({name, {}, path});
  }
  return files;
}

std::vector<std::byte> encode(std::span<const float> values, Layout layout) {
  if (layout == Layout::kF32) {
    const auto bytes = std::as_bytes(values);
    return {bytes.begin(), bytes.end()};
  }
  std::vector<std::byte> bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits =
        layout == Layout::kF16 ? to_half(values[i]).bits : to_bfloat16(values[i]).bits;
    bytes[2 * i] = static_cast<std::byte>(bits & 0xFF);
    bytes[2 * i + 1] = static_cast<std::byte>(bits >> 8);
  }
  return bytes;
}

}  // namespace

Result<CheckpointOutput> CheckpointOutput::create(const std::filesystem::path& folder,
                                                  std::shared_ptr<const Checkpoint> input,
                                                  const ModelPlan& plan,
                                                  const std::vector<ModulePlan>& modules,
                                                  const std::vector<std::string>& changed,
                                                  const std::string& config,
                                                  const CompressOptions& options) {
  CheckpointOutput output;
  output.input_ = std::move(input);
  output.plan_ = std::make_shared<const ModelPlan>(plan);
  INGOT_TRY(const HfConfig parsed, HfConfig::parse(config, "config.json"));
  INGOT_TRY(output.quantization_, read_quant_config(parsed));

  std::map<std::string, const ModulePlan*> quantized;  // by the file's name, without ".weight"
  for (const ModulePlan& module : modules) {
    const TensorEntry* entry = find_entry(*output.input_, plan, module.module.tensor);
    // A weight that is quantized already has other tensors; its own name is the plan's.
    const std::string name = module_of(entry != nullptr ? entry->name : module.module.tensor);
    output.prefixes_[module.module.tensor] = name;
    if (!module.keeps) quantized[name] = &module;
  }
  std::set<std::string> later;
  for (const std::string& tensor : changed) {
    const TensorEntry* entry = find_entry(*output.input_, plan, tensor);
    if (entry == nullptr) continue;
    later.insert(entry->name);
    output.prefixes_[tensor] = entry->name;
  }

  std::vector<PlannedTensor> planned;
  std::set<const ModulePlan*> seen;
  for (const TensorEntry* entry : output.input_->tensors()) {
    // The module this tensor is part of: "a.b.qweight" of "a.b", but never its bias.
    const ModulePlan* module = nullptr;
    for (size_t dot = entry->name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = entry->name.rfind('.', dot - 1)) {
      const auto it = quantized.find(entry->name.substr(0, dot));
      if (it == quantized.end()) continue;
      if (entry->name.substr(dot) != ".bias") module = it->second;
      break;
    }
    if (module == nullptr) {
      output.indexes_[entry->name] = planned.size();
      if (!later.contains(entry->name)) output.copies_.push_back({planned.size(), entry});
      planned.push_back({entry->name, entry->tensor.layout, entry->tensor.shape});
      continue;
    }
    if (!seen.insert(module).second) continue;
    const std::string& name = output.prefixes_[module->module.tensor];
    for (const PackedTensor& tensor :
         module->format.plan(module->module.rows, module->module.cols)) {
      output.indexes_[name + tensor.suffix] = planned.size();
      planned.push_back({name + tensor.suffix, tensor.layout, tensor.shape});
    }
  }
  WriterOptions writer;
  writer.overwrites = options.overwrites;
  writer.shard_bytes = options.shard_bytes;
  // Names and shapes are the writer's own to compare; the values depend on these besides.
  std::vector<TokenId> samples;
  for (const auto& sample : options.samples) {
    samples.push_back(static_cast<TokenId>(sample.size()));
    samples.insert(samples.end(), sample.begin(), sample.end());
  }
  writer.plan =
      fmt::format("{}\n{}\nmethod {} order {} damping {} sequential {} search {} samples {:x}",
                  input_identity(output.input_->name()), config, static_cast<int>(options.method),
                  options.orders_columns, options.damping, options.is_sequential,
                  options.format.affine.searches, checksum64(std::as_bytes(std::span(samples))));
  for (const ModuleRule& rule : options.rules)
    writer.plan += fmt::format("\n{}", rule.pattern);
  INGOT_TRY(output.writer_,
            create_safetensors(folder, {{"format", "pt"}}, std::move(planned),
                               side_files(output.input_->folder(), config), writer));
  for (size_t i = 0; i < output.writer_->size(); ++i)
    output.was_resumed_ = output.was_resumed_ || output.writer_->is_done(i);
  return output;
}

const size_t* CheckpointOutput::index_of(const std::string& name) const {
  const auto it = indexes_.find(name);
  return it == indexes_.end() ? nullptr : &it->second;
}

Status CheckpointOutput::copy_plain(const std::function<void(double fraction)>& progress) {
  uint64_t total = 1;
  uint64_t done = 0;
  for (const Copy& copy : copies_)
    total += copy.from->tensor.bytes.size();
  for (const Copy& copy : copies_) {
    const auto bytes = copy.from->tensor.bytes;
    if (!writer_->is_done(copy.index)) {
      for (uint64_t at = 0; at < bytes.size(); at += kCopyBytes) {
        const auto part = bytes.subspan(at, std::min<uint64_t>(kCopyBytes, bytes.size() - at));
        INGOT_TRY(writer_->write_part(copy.index, at, part));
      }
      INGOT_TRY(input_->check_intact());
      INGOT_TRY(writer_->finish(copy.index));
      MappedFile::release(bytes);
    }
    done += bytes.size();
    if (progress) progress(static_cast<double>(done) / static_cast<double>(total));
  }
  return Status::ok();
}

bool CheckpointOutput::is_done(const ModulePlan& module) const {
  const std::string& name = prefixes_.find(module.module.tensor)->second;
  for (const PackedTensor& tensor : module.format.plan(module.module.rows, module.module.cols)) {
    if (!writer_->is_done(*index_of(name + tensor.suffix))) return false;
  }
  return true;
}

Status CheckpointOutput::write(const ModulePlan& module, const PackedTensors& tensors) {
  const std::string& name = prefixes_.find(module.module.tensor)->second;
  for (const PackedTensor& tensor : tensors) {
    const size_t* index = index_of(name + tensor.suffix);
    INGOT_CHECK(index != nullptr);
    if (!writer_->is_done(*index)) INGOT_TRY(writer_->write(*index, tensor.bytes));
  }
  return Status::ok();
}

bool CheckpointOutput::has_floats(const std::string& tensor) const {
  return prefixes_.contains(tensor);
}

Status CheckpointOutput::write_floats(const std::string& tensor, std::span<const float> values) {
  const TensorEntry* entry = find_entry(*input_, *plan_, tensor);
  INGOT_CHECK(entry != nullptr);
  const size_t* index = index_of(entry->name);
  INGOT_CHECK(index != nullptr);
  if (writer_->is_done(*index)) return Status::ok();
  return writer_->write(*index, encode(values, entry->tensor.layout));
}

Result<std::vector<float>> CheckpointOutput::read_back(const ModulePlan& module) const {
  const std::string& name = prefixes_.find(module.module.tensor)->second;
  std::map<std::string, TensorEntry, std::less<>> entries;
  const QuantModule reader("the output", name,
                           [&](std::string_view suffix) -> Result<const TensorEntry*> {
                             const std::string full = name + std::string(suffix);
                             const size_t* index = index_of(full);
                             if (index == nullptr) return static_cast<const TensorEntry*>(nullptr);
                             INGOT_TRY(const TensorView view, writer_->view(*index));
                             TensorEntry& entry = entries[full];
                             entry = {full, view, 0};
                             return static_cast<const TensorEntry*>(&entry);
                           });
  INGOT_TRY(const std::optional<QuantTensor> tensor,
            read_quant_weight(reader, quantization_, module.module.cols));
  if (!tensor) return Status::internal("{}: what was written cannot be read back", name);
  const auto cols = static_cast<size_t>(module.module.cols);
  std::vector<float> values(static_cast<size_t>(module.module.rows) * cols);
  for (int64_t row = 0; row < module.module.rows; ++row) {
    dequantize_row(*tensor, row, std::span(values).subspan(static_cast<size_t>(row) * cols, cols));
  }
  return values;
}

Result<std::vector<float>> CheckpointOutput::read_back(const std::string& tensor) const {
  const size_t* index = index_of(prefixes_.find(tensor)->second);
  INGOT_CHECK(index != nullptr);
  INGOT_TRY(const TensorView view, writer_->view(*index));
  std::vector<float> values(view.shape.elements().value_or(0));
  dequantize(view.layout, view.bytes, values);
  return values;
}

uint64_t CheckpointOutput::size_bytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < writer_->size(); ++i)
    bytes += writer_->size_bytes(i);
  return bytes;
}

}  // namespace ingot
