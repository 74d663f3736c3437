// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <utility>

namespace ingot {
namespace {

// What the SIGBUS handler may look at: a fixed table, because a handler can take no lock and
// allocate nothing. The one global of base/: signals have no other way to find their mapping.
struct Mapping {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> is_broken{false};
};
constexpr size_t kMaxMappings = 16384;         // a sharded model maps some hundred files
std::array<Mapping, kMaxMappings> g_mappings;  // NOLINT(readability-identifier-naming): see above
struct sigaction g_previous;                   // NOLINT(readability-identifier-naming): see above

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Mapping& mapping : g_mappings) {
    const uintptr_t begin = mapping.begin.load(std::memory_order_acquire);
    if (begin == 0 || address < begin || address >= mapping.end.load(std::memory_order_acquire))
      continue;
    const auto page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    void* page = static_cast<char*>(info->si_addr) - address % page_size;
    if (::mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
      break;
    mapping.is_broken.store(true, std::memory_order_release);
    return;
  }
  // Not ours: let the default (or the sanitizer's) handler report it.
  if ((g_previous.sa_flags & SA_SIGINFO) != 0 && g_previous.sa_sigaction != nullptr) {
    g_previous.sa_sigaction(signal, info, context);
    return;
  }
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

void install_handler_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &g_previous);
  });
}

int claim_slot(uintptr_t begin, uintptr_t end) {
  for (size_t i = 0; i < kMaxMappings; ++i) {
    uintptr_t expected = 0;
    if (!g_mappings[i].begin.compare_exchange_strong(expected, begin)) continue;
    g_mappings[i].is_broken.store(false);
    g_mappings[i].end.store(end);
    return static_cast<int>(i);
  }
  return -1;
}

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<struct stat> open_regular(const std::filesystem::path& path, Descriptor& file) {
  // O_NONBLOCK: opening a pipe must not hang before it can be refused.
  file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd < 0) {
    const int error = errno;
    const auto code = error == ENOENT ? StatusCode::kNotFound : StatusCode::kIo;
    return Status(code, fmt::format("{}: cannot open: {}", path.string(), std::strerror(error)));
  }
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) {
    return Status::io("{}: cannot stat: {}", path.string(), std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) {
    return Status::invalid_data("{}: not a regular file; give the path of a model file",
                                path.string());
  }
  return info;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  Descriptor file;
  INGOT_TRY(const struct stat info, open_regular(path, file));
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->name_ = path.string();
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(mapped);

  install_handler_once();
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd, 0);
  if (memory == MAP_FAILED) {
    return Status::io("{}: cannot map {} bytes: {}", path.string(), size, std::strerror(errno));
  }
  mapped->bytes_ = {static_cast<const std::byte*>(memory), size};
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  mapped->slot_ = claim_slot(begin, begin + size);
  if (mapped->slot_ < 0) {
    ::munmap(memory, size);
    mapped->bytes_ = {};
    return Status::resource_exhausted("{}: more than {} files mapped at once", path.string(),
                                      kMaxMappings);
  }
  mapped->fd_ = std::exchange(file.fd, -1);
  return std::shared_ptr<const MappedFile>(mapped);
}

std::shared_ptr<const MappedFile> MappedFile::from_memory(std::span<const std::byte> bytes,
                                                          std::string name) {
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  mapped->bytes_ = bytes;
  mapped->name_ = std::move(name);
  return mapped;
}

MappedFile::~MappedFile() {
  if (slot_ < 0) return;
  // Before the address can be given to another mapping, which claims a slot of its own.
  Mapping& mapping = g_mappings[static_cast<size_t>(slot_)];
  mapping.end.store(0);
  mapping.begin.store(0);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  ::close(fd_);
}

Status MappedFile::check_intact() const {
  if (slot_ < 0) return Status::ok();
  struct stat info {};
  const bool is_whole =
      ::fstat(fd_, &info) == 0 && static_cast<uint64_t>(info.st_size) >= bytes_.size();
  const Mapping& mapping = g_mappings[static_cast<size_t>(slot_)];
  if (is_whole && !mapping.is_broken.load(std::memory_order_acquire)) return Status::ok();
  return Status::invalid_data("{}: the file was truncated while in use; restore it and start again",
                              name_);
}

void MappedFile::prefetch() const {
  if (slot_ >= 0) ::madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_WILLNEED);
}

void MappedFile::release(std::span<const std::byte> bytes) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(bytes.data()) + kPage - 1) / kPage * kPage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) / kPage * kPage;
  if (begin >= end) return;
  for (const Mapping& mapping : g_mappings) {
    if (begin < mapping.begin.load() || end > mapping.end.load()) continue;
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    return;
  }
}

Result<std::string> read_small_file(const std::filesystem::path& path, uint64_t limit_bytes) {
  Descriptor file;
  INGOT_TRY(const struct stat info, open_regular(path, file));
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size > limit_bytes) {
    return Status::resource_exhausted(
        "{}: {} bytes, more than the limit of {} for this kind of file", path.string(), size,
        limit_bytes);
  }
  std::string text(size, '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::read(file.fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::io("{}: cannot read: {}", path.string(), std::strerror(errno));
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace ingot
