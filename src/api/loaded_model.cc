// SPDX-License-Identifier: Apache-2.0
#include "api/loaded_model.h"

#include "api/generation_defaults.h"
#include "api/stop_ids.h"
#include "base/mapped_file.h"

namespace ingot {

Result<std::shared_ptr<const Checkpoint>> open_checkpoint(std::string_view path) {
  if (path != "default") return Checkpoint::open(std::filesystem::path(path));
  const std::span<const std::byte> bytes = default_model_bytes();
  if (bytes.empty()) {
    return Status::not_found(
        "no default model is embedded in this build; give the path of a GGUF file or a model "
        "folder");
  }
  INGOT_TRY(const auto file, GgufFile::parse(MappedFile::from_memory(bytes, "default")));
  return Checkpoint::from_gguf(file);
}

Result<LoadedModel> load_model(std::string_view path, const ModelOptions& options) {
  LoadedModel loaded;
  loaded.name = path;
  INGOT_TRY(loaded.checkpoint, open_checkpoint(path));
  INGOT_TRY(const GenerationDefaults defaults, generation_defaults(*loaded.checkpoint));
  INGOT_TRY(loaded.model, Model::load(loaded.checkpoint, options));
  loaded.text = text_side_of(*loaded.checkpoint);
  loaded.sampling = defaults.sampling;

  const ModelSpec& spec = loaded.model->spec();
  std::vector<TokenId> configured = defaults.eos_ids;
  configured.insert(configured.end(), spec.eos_ids.begin(), spec.eos_ids.end());
  loaded.stop_ids = collect_stop_ids(loaded.text.tokenizer.get(), configured, spec.vocab);
  return loaded;
}

}  // namespace ingot
