// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program under test: the Nth call that writes, syncs, renames, maps or reserves
// below SHIM_FOLDER fails, is cut short, or kills the process. Single, or that one and all after it.
//   SHIM_AT=n SHIM_MODE=enospc|eio|short|kill SHIM_STICKY=0|1 SHIM_FOLDER=/abs SHIM_COUNT=file
// SHIM_COUNT receives how many calls there were, when the program ends by itself.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;
static long fault_at;
static int is_sticky;
static int fault_errno;  // 0: a short write
static int kills;
static char folder[PATH_MAX];
static const char* count_file;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
  const char* at = getenv("SHIM_AT");
  const char* mode = getenv("SHIM_MODE");
  const char* sticky = getenv("SHIM_STICKY");
  const char* below = getenv("SHIM_FOLDER");
  count_file = getenv("SHIM_COUNT");
  fault_at = at ? atol(at) : 0;
  is_sticky = sticky && *sticky == '1';
  snprintf(folder, sizeof(folder), "%s", below ? below : "/");
  if (!mode) mode = "eio";
  kills = !strcmp(mode, "kill");
  fault_errno = !strcmp(mode, "enospc") ? ENOSPC : !strcmp(mode, "short") ? 0 : EIO;
}

__attribute__((destructor)) static void end(void) {
  if (!count_file) return;
  FILE* file = fopen(count_file, "w");
  if (!file) return;
  fprintf(file, "%ld\n", atomic_load(&calls));
  fclose(file);
}

static int is_path_below(const char* path) {
  char whole[PATH_MAX];
  if (path[0] != '/') {
    if (!getcwd(whole, sizeof(whole))) return 0;
    path = whole;
  }
  return !strncmp(path, folder, strlen(folder));
}

static int is_below(int fd) {
  char link[64];
  char path[PATH_MAX];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof(path) - 1);
  if (size <= 0) return 0;
  path[size] = 0;
  return is_path_below(path);
}

// True when this call is to fail.
static int is_hit(void) {
  const long now = atomic_fetch_add(&calls, 1) + 1;
  if (fault_at <= 0 || (is_sticky ? now < fault_at : now != fault_at)) return 0;
  if (kills) kill(getpid(), SIGKILL);
  return 1;
}

static int fail(void) {
  errno = fault_errno ? fault_errno : EIO;
  return -1;
}

ssize_t write(int fd, const void* data, size_t size) {
  if (fd > 2 && is_below(fd) && is_hit()) {
    if (fault_errno || size < 2) return fail();
    size /= 2;
  }
  return REAL(write)(fd, data, size);
}

ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  if (is_below(fd) && is_hit()) {
    if (fault_errno || size < 2) return fail();
    size /= 2;
  }
  return REAL(pwrite)(fd, data, size, offset);
}

ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return pwrite(fd, data, size, offset);
}

// A short write is no failure of these; they then work.
#define FAIL_IF_HIT(is_ours) \
  if ((is_ours) && is_hit() && fault_errno) return fail()

int fsync(int fd) {
  FAIL_IF_HIT(is_below(fd));
  return REAL(fsync)(fd);
}

int fdatasync(int fd) {
  FAIL_IF_HIT(is_below(fd));
  return REAL(fdatasync)(fd);
}

int ftruncate(int fd, off_t size) {
  FAIL_IF_HIT(is_below(fd));
  return REAL(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int fallocate(int fd, int mode, off_t offset, off_t size) {
  FAIL_IF_HIT(is_below(fd));
  return REAL(fallocate)(fd, mode, offset, size);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size) {
  return fallocate(fd, mode, offset, size);
}

int mkdir(const char* path, mode_t mode) {
  FAIL_IF_HIT(is_path_below(path));
  return REAL(mkdir)(path, mode);
}

int rename(const char* from, const char* to) {
  FAIL_IF_HIT(is_path_below(to));
  return REAL(rename)(from, to);
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) {
  FAIL_IF_HIT(is_path_below(to));
  return REAL(renameat2)(from_fd, from, to_fd, to, flags);
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fd >= 0 && is_below(fd) && is_hit() && fault_errno) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

void* mmap64(void* address, size_t size, int protection, int flags, int fd, off64_t offset) {
  return mmap(address, size, protection, flags, fd, offset);
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  if (flags & O_CREAT) {
    FAIL_IF_HIT(is_path_below(path));
  }
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  mode_t mode = 0;
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return open(path, flags, mode);
}
