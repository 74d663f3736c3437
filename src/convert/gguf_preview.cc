// SPDX-License-Identifier: Apache-2.0
#include "convert/gguf_preview.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "formats/checkpoint.h"
#include "formats/gguf_head.h"

namespace ingot {
namespace {

// Zero pages that are only taken when touched. Single owner.
class VirtualBytes {
 public:
  explicit VirtualBytes(size_t size) : size_(size) {
    void* address = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address != MAP_FAILED) bytes_ = static_cast<std::byte*>(address);
  }
  VirtualBytes(const VirtualBytes&) = delete;
  VirtualBytes& operator=(const VirtualBytes&) = delete;
  ~VirtualBytes() {
    if (bytes_ != nullptr) ::munmap(bytes_, size_);
  }
  std::byte* data() const { return bytes_; }
  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

 private:
  std::byte* bytes_ = nullptr;
  size_t size_;
};

}  // namespace

Result<ModelPlan> preview_gguf(const GgufKeyValues& values,
                               std::span<const PlannedTensor> tensors) {
  std::vector<PlannedTensor> small(tensors.begin(), tensors.end());
  for (PlannedTensor& tensor : small)
    tensor.layout = Layout::kI8;  // mappers ask for shapes only
  INGOT_TRY(const GgufHead head, make_gguf_head(values, small));
  const VirtualBytes memory(head.file_size);
  if (memory.data() == nullptr) {
    return Status::resource_exhausted("cannot reserve {} bytes of addresses: {}", head.file_size,
                                      std::strerror(errno));
  }
  std::memcpy(memory.data(), head.bytes.data(), head.bytes.size());
  INGOT_TRY(auto file,
            GgufFile::parse(MappedFile::from_memory(memory.bytes(), "the GGUF file to be")));
  INGOT_TRY(const auto checkpoint, Checkpoint::from_gguf(std::move(file)));
  return plan_model(*checkpoint);
}

}  // namespace ingot
