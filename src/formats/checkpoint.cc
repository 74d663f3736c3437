// SPDX-License-Identifier: Apache-2.0
#include "formats/checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "base/limits.h"
#include "formats/quote_name.h"
#include "formats/split_name.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr size_t kListedFiles = 8;
constexpr size_t kFolderEntries = 100'000;  // more is no model folder, and listing it is no use

bool is_pickle_name(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".pkl";
}

Status refuse_pickle(const std::string& name) {
  return Status::unsupported(
      "{}: pickled weights can run code and are never opened; convert the model to safetensors or "
      "GGUF",
      name);
}

// The names in a folder, sorted. Links count as what they point at (model caches are made of
// links).
Result<std::vector<std::string>> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    if (names.size() == kFolderEntries) {
      return Status::resource_exhausted("{}: more than {} files; give the path of a model",
                                        folder.string(), kFolderEntries);
    }
    std::error_code ignored;
    if (it->is_regular_file(ignored)) names.push_back(it->path().filename().string());
  }
  if (error) return Status::io("{}: cannot list: {}", folder.string(), error.message());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> with_extension(const std::vector<std::string>& names,
                                        std::string_view extension) {
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found),
                       [&](const std::string& name) { return name.ends_with(extension); });
  return found;
}

std::string list(const std::vector<std::string>& names) {
  const size_t shown = std::min(names.size(), kListedFiles);
  const std::string more =
      names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "";
  return fmt::format(
      "{}{}", fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(shown), ", "), more);
}

// One file stands for the model: the only one, or the first part when all are parts of one model.
Result<std::string> only_file(const fs::path& folder, const std::vector<std::string>& names) {
  const auto first = parse_split_name(names[0]);
  const bool is_one_model =
      first && std::ranges::all_of(names, [&](const std::string& name) {
        const auto part = parse_split_name(name);
        return part && part->prefix == first->prefix && part->count == first->count;
      });
  if (names.size() == 1 || is_one_model) return names[0];
  return Status::invalid_argument("{}: holds several models: {}; give the path of one",
                                  folder.string(), list(names));
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::open(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Status::not_found("{}: no such file or folder", path.string());
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->name_ = path.string();
  if (fs::is_directory(status)) {
    checkpoint->folder_ = path;
    INGOT_TRY(checkpoint->open_folder());
  } else {
    checkpoint->folder_ = path.has_parent_path() ? path.parent_path() : ".";
    INGOT_TRY(checkpoint->open_file(path));
  }
  INGOT_TRY(checkpoint->sort_names());
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

Result<std::shared_ptr<const Checkpoint>> Checkpoint::from_gguf(
    std::shared_ptr<const GgufFile> file) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->name_ = file->file()->name();
  checkpoint->add_all(*file);
  checkpoint->gguf_.push_back(std::move(file));
  INGOT_TRY(checkpoint->sort_names());
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

Status Checkpoint::open_folder() {
  INGOT_TRY(const std::vector<std::string> names, files_in(folder_));
  const auto has = [&](std::string_view name) { return std::ranges::binary_search(names, name); };
  if (has(kIndexName)) return open_index(folder_ / kIndexName);
  if (has("model.safetensors")) return open_file(folder_ / "model.safetensors");
  if (const auto files = with_extension(names, ".safetensors"); !files.empty()) {
    INGOT_TRY(const std::string name, only_file(folder_, files));
    if (files.size() == 1 && !parse_split_name(name)) return open_file(folder_ / name);
    return Status::not_found("{}: has shards like {} but no {}; download it too", folder_.string(),
                             name, kIndexName);
  }
  if (const auto files = with_extension(names, ".gguf"); !files.empty()) {
    INGOT_TRY(const std::string name, only_file(folder_, files));
    return open_gguf(folder_ / name);
  }
  const auto pickle = std::ranges::find_if(names, is_pickle_name);
  if (pickle != names.end()) return refuse_pickle((folder_ / *pickle).string());
  return Status::not_found("{}: no .safetensors or .gguf file in this folder", folder_.string());
}

Status Checkpoint::open_file(const fs::path& path) {
  if (path.string().ends_with(".index.json")) return open_index(path);
  INGOT_TRY(auto file, MappedFile::open(path));
  const auto head = file->bytes().first(std::min<size_t>(4, file->bytes().size()));
  const std::string_view magic(reinterpret_cast<const char*>(head.data()), head.size());
  if (magic == "GGUF" || path.extension() == ".gguf") return open_gguf(path);
  if (is_pickle_name(path) || magic == "PK\x03\x04") return refuse_pickle(path.string());
  if (magic == "lmgg" || magic == "tjgg" || magic == "fmgg") {
    return Status::unsupported(
        "{}: magic at offset 0: a GGML file from before GGUF; convert the model again",
        path.string());
  }
  INGOT_TRY(auto safetensors, SafetensorsFile::parse(std::move(file)));
  add_all(*safetensors);
  safetensors_.push_back(std::move(safetensors));
  return Status::ok();
}

Status Checkpoint::open_gguf(const fs::path& path) {
  INGOT_TRY(auto given, GgufFile::open(path));
  int64_t count = 1;
  if (given->metadata().has("split.count")) {
    INGOT_TRY(count, given->metadata().integer("split.count"));
  }
  if (count <= 1) {  // a file that says 0 or 1 is whole
    add_all(*given);
    gguf_.push_back(std::move(given));
    return Status::ok();
  }
  if (count > limits::kGgufSplits) {
    return Status::invalid_data("{}: key 'split.count': {} splits, more than {}", path.string(),
                                count, limits::kGgufSplits);
  }
  const auto split = parse_split_name(path.filename().string());
  if (!split || split->count != count) {
    return Status::invalid_data(
        "{}: key 'split.count': one of {} splits, so its name must end in -00001-of-{:05}.gguf",
        path.string(), count, count);
  }
  int64_t tensors = 0;
  for (uint32_t i = 1; i <= split->count; ++i) {
    const fs::path part = path.parent_path() / split->part(i);
    INGOT_TRY(auto file, i == split->number ? Result(given) : GgufFile::open(part));
    INGOT_TRY(const int64_t number, file->metadata().integer("split.no"));
    INGOT_TRY(const int64_t part_count, file->metadata().integer("split.count"));
    if (number != i - 1 || part_count != count) {
      return Status::invalid_data(
          "{}: key 'split.no': says split {} of {} but the name says {} of {}", part.string(),
          number + 1, part_count, i, count);
    }
    tensors += static_cast<int64_t>(file->tensors().size());
    add_all(*file);
    gguf_.push_back(std::move(file));
  }
  if (!gguf_[0]->metadata().has("split.tensors.count")) return Status::ok();
  INGOT_TRY(const int64_t expected, gguf_[0]->metadata().integer("split.tensors.count"));
  if (tensors == expected) return Status::ok();
  return Status::invalid_data(
      "{}: key 'split.tensors.count': {} tensors, but the {} splits hold {}",
      gguf_[0]->file()->name(), expected, count, tensors);
}

Status Checkpoint::open_index(const fs::path& path) {
  INGOT_TRY(const auto file, MappedFile::open(path));
  if (file->bytes().size() > limits::kSafetensorsIndexBytes) {
    return Status::invalid_data("{}: {} bytes, more than the limit of {} for an index",
                                path.string(), file->bytes().size(),
                                limits::kSafetensorsIndexBytes);
  }
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  INGOT_TRY(const SafetensorsIndex index, parse_safetensors_index(text, path.string()));
  const std::vector<std::string> shards = index.shard_names();
  if (shards.size() > limits::kSafetensorsShards) {
    return Status::invalid_data("{}: {} shards, more than {}", path.string(), shards.size(),
                                limits::kSafetensorsShards);
  }
  std::set<std::string_view> missing;
  for (const auto& [tensor, shard] : index.weight_map)
    missing.insert(tensor);
  for (const std::string& shard : shards) {
    auto opened = SafetensorsFile::open(path.parent_path() / shard);
    if (!opened.is_ok() && opened.status().code() == StatusCode::kNotFound) {
      return Status::not_found("{}: names the shard {}, which is not there; download it too",
                               path.string(), shard);
    }
    INGOT_TRY(auto safetensors, std::move(opened));
    for (const TensorEntry& entry : safetensors->tensors()) {
      const auto place = index.weight_map.find(entry.name);
      if (place == index.weight_map.end() || place->second != shard) continue;  // the index decides
      order_.push_back(&entry);
      missing.erase(entry.name);
    }
    safetensors_.push_back(std::move(safetensors));
  }
  if (missing.empty()) return Status::ok();
  const auto tensor = index.weight_map.find(std::string(*missing.begin()));
  return Status::invalid_data(
      "{}: tensor {} is not in its shard {} ({} such in all); download the model again",
      path.string(), quote_name(tensor->first), tensor->second, missing.size());
}

template <class File>
void Checkpoint::add_all(const File& file) {
  for (const TensorEntry& entry : file.tensors())
    order_.push_back(&entry);
}

Status Checkpoint::sort_names() {
  const auto name = [](const TensorEntry* entry) -> std::string_view { return entry->name; };
  by_name_ = order_;
  std::ranges::sort(by_name_, {}, name);
  const auto twice = std::ranges::adjacent_find(by_name_, {}, name);
  if (twice == by_name_.end()) return Status::ok();
  return Status::invalid_data("{}: tensor {} is in two of its files", name_,
                              quote_name(name(*twice)));
}

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto name_of = [](const TensorEntry* entry) -> std::string_view { return entry->name; };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
  return found != by_name_.end() && (*found)->name == name ? *found : nullptr;
}

std::shared_ptr<const Checkpoint> Checkpoint::without_tensors(std::string name) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->name_ = std::move(name);
  return checkpoint;
}

Result<TensorView> Checkpoint::tensor(std::string_view name) const {
  if (const TensorEntry* entry = find(name)) return entry->tensor;
  return Status::not_found("{}: no tensor {}", name_, quote_name(name));
}

const GgufMetadata* Checkpoint::gguf_metadata() const {
  return gguf_.empty() ? nullptr : &gguf_[0]->metadata();
}

uint64_t Checkpoint::size_bytes() const {
  uint64_t size = 0;
  for (const auto& file : gguf_)
    size += file->file()->bytes().size();
  for (const auto& file : safetensors_)
    size += file->file()->bytes().size();
  return size;
}

Status Checkpoint::check_intact() const {
  for (const auto& file : gguf_)
    INGOT_TRY(file->file()->check_intact());
  for (const auto& file : safetensors_)
    INGOT_TRY(file->file()->check_intact());
  return Status::ok();
}

}  // namespace ingot
