// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf_writer.h"

#include "base/atomic_file.h"
#include "formats/gguf_head.h"
#include "formats/quote_name.h"

namespace ingot {
namespace {

Status write_padding(AtomicFile& file, uint64_t end) {
  return file.write(std::string(end - file.size_bytes(), '\0'));
}

}  // namespace

void GgufWriter::add(std::string name, const TensorView& tensor) {
  tensors_.push_back({std::move(name), tensor});
}

Status GgufWriter::write(const std::filesystem::path& path) const {
  std::vector<PlannedTensor> planned;
  planned.reserve(tensors_.size());
  for (const TensorEntry& entry : tensors_)
    planned.push_back({entry.name, entry.tensor.layout, entry.tensor.shape});
  INGOT_TRY(const GgufHead head, make_gguf_head(*this, planned));
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorView& tensor = tensors_[i].tensor;
    if (tensor.bytes.size() == head.sizes[i]) continue;
    return Status::invalid_argument("tensor {}: {} bytes are not {} in {}",
                                    quote_name(tensors_[i].name), tensor.bytes.size(),
                                    tensor.shape.to_string(), info(tensor.layout).name);
  }
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(head.bytes));
  for (size_t i = 0; i < tensors_.size(); ++i) {
    INGOT_TRY(write_padding(file, head.offsets[i]));
    INGOT_TRY(file.write(tensors_[i].tensor.bytes));
  }
  INGOT_TRY(write_padding(file, head.file_size));
  return file.commit();
}

}  // namespace ingot
