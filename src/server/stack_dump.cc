// SPDX-License-Identifier: Apache-2.0
#include "server/stack_dump.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <thread>

namespace ingot {
namespace {

constexpr int kMostFrames = 64;
constexpr int kHandlerFrames = 2;  // the handler itself and the system's way into it

// One thread is asked at a time: whom, and what it said. A handler can reach nothing else.
struct Question {
  enum State : int { kIdle, kAsked, kAnswering, kAnswered };
  std::atomic<int> state{kIdle};
  std::atomic<int> thread{0};
  int count = 0;
  std::array<void*, kMostFrames> frames{};
};
Question g_question;  // NOLINT(readability-identifier-naming): a handler's only way

int this_thread() {
  return static_cast<int>(::syscall(SYS_gettid));
}

void answer(int /*signal*/) {
  const int saved_errno = errno;
  int expected = Question::kAsked;
  // A thread that answers too late finds another question, or none.
  if (g_question.thread == this_thread() &&
      g_question.state.compare_exchange_strong(expected, Question::kAnswering)) {
    g_question.count = ::backtrace(g_question.frames.data(), kMostFrames);
    g_question.state = Question::kAnswered;
  }
  errno = saved_errno;
}

std::string name_of_thread(int id) {
  std::ifstream file(fmt::format("/proc/self/task/{}/comm", id));
  std::string name;
  std::getline(file, name);
  return name;
}

std::string file_name(const char* path) {
  return path == nullptr ? "?" : std::filesystem::path(path).filename().string();
}

// "ingot::EngineCore::step(...)+0x1f4 (ingot+0x81234)"
std::string describe(void* address) {
  Dl_info info{};
  const auto at = reinterpret_cast<uintptr_t>(address);
  // One back: a return address may be the first of the next function.
  if (::dladdr(static_cast<char*>(address) - 1, &info) == 0) return fmt::format("{:#x}", at);
  std::string place = fmt::format("{}+{:#x}", file_name(info.dli_fname),
                                  at - reinterpret_cast<uintptr_t>(info.dli_fbase));
  if (info.dli_sname == nullptr) return place;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status), &std::free);
  return fmt::format("{}+{:#x} ({})", status == 0 ? readable.get() : info.dli_sname,
                     at - reinterpret_cast<uintptr_t>(info.dli_saddr), place);
}

bool await_state(Question::State state, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (g_question.state != state) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

ThreadStack ask(int id, int signal, std::chrono::milliseconds limit) {
  ThreadStack stack{.id = id, .name = name_of_thread(id)};
  g_question.thread = id;
  g_question.state = Question::kAsked;
  if (::syscall(SYS_tgkill, ::getpid(), id, signal) != 0) {
    g_question.state = Question::kIdle;
    return stack;  // it has ended meanwhile
  }
  bool has_answered = await_state(Question::kAnswered, limit);
  int asked = Question::kAsked;
  // One that has begun to answer finishes; one that has not may not any more.
  if (!has_answered && !g_question.state.compare_exchange_strong(asked, Question::kIdle))
    has_answered = await_state(Question::kAnswered, std::chrono::seconds(1));
  if (!has_answered) return stack;
  const auto frames = std::span(g_question.frames).first(static_cast<size_t>(g_question.count));
  for (size_t i = kHandlerFrames; i < frames.size(); ++i)
    stack.frames.push_back(describe(frames[i]));
  g_question.state = Question::kIdle;
  return stack;
}

}  // namespace

std::vector<ThreadStack> stacks_of_other_threads(std::chrono::milliseconds limit) {
  // The first call of backtrace() loads a library, which no handler may do.
  std::array<void*, 2> unused{};
  ::backtrace(unused.data(), static_cast<int>(unused.size()));
  const int signal = SIGRTMIN + 6;
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = answer;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, &previous);

  std::vector<ThreadStack> stacks;
  std::error_code problem;
  for (std::filesystem::directory_iterator it("/proc/self/task", problem), end;
       !problem && it != end; it.increment(problem)) {
    const std::string name = it->path().filename().string();
    int id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    if (id != 0 && id != this_thread()) stacks.push_back(ask(id, signal, limit));
  }
  // The handler stays: a thread that answers late must not meet the signal's default, death.
  return stacks;
}

}  // namespace ingot
