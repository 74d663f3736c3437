// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "convert/lora.h"
#include "convert/make_source.h"
#include "convert/source_tensor.h"
#include "convert/to_hf.h"
#include "model/hf_config.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// What belongs to a model beside its weights: configuration, tokenizer, templates, licence.
bool is_side_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".index.json")) return false;
  const std::string extension = path.extension().string();
  return extension == ".json" || extension == ".jinja" || extension == ".model" ||
         name == "merges.txt" || name == "vocab.txt" || name == "README.md" ||
         name.starts_with("LICENSE");
}

Result<std::vector<SideFile>> side_files(const fs::path& folder) {
  std::set<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && is_side_file(it->path())) found.insert(it->path());
  }
  if (error) return Status::io("{}: cannot list: {}", folder.string(), error.message());
  std::vector<SideFile> files;
  for (const fs::path& path : found)
    files.push_back({path.filename().string(), "", path});
  return files;
}

Result<SafetensorsPlan> keep_safetensors(std::shared_ptr<const Checkpoint> input,
                                         std::shared_ptr<const LoraAdapter> adapter) {
  SafetensorsPlan plan;
  plan.metadata = {{"format", "pt"}};
  const auto config = HfConfig::open(input->folder() / "config.json");
  plan.is_packed = config.is_ok() && config->object("quantization_config").has_value();
  INGOT_TRY(plan.files, side_files(input->folder()));
  if (adapter != nullptr) {
    if (adapter->is_gguf()) {
      return Status::unsupported("{}: a GGUF adapter goes with a GGUF model; {} is none",
                                 adapter->name(), input->name());
    }
    for (const std::string& module : adapter->modules())
      INGOT_TRY(input->tensor(module + ".weight"));
  }
  for (const TensorEntry* entry : input->tensors()) {
    SourceTensor tensor = kept_source(input, adapter, *entry);
    if (entry->tensor.shape.rank() < 2) tensor.kind = TensorKind::kBias;
    plan.tensors.push_back(std::move(tensor));
  }
  return plan;
}

}  // namespace

Result<SafetensorsPlan> plan_safetensors(std::shared_ptr<const Checkpoint> input,
                                         std::shared_ptr<const LoraAdapter> adapter) {
  if (input->gguf_metadata() != nullptr) return convert_to_hf(std::move(input), std::move(adapter));
  return keep_safetensors(std::move(input), std::move(adapter));
}

}  // namespace ingot
