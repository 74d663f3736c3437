// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace ingot {
namespace {

std::atomic<bool> g_pressed{false};  // NOLINT(readability-identifier-naming): a handler's only way
struct sigaction g_previous;         // NOLINT(readability-identifier-naming): same

void on_interrupt(int) {
  g_pressed.store(true, std::memory_order_relaxed);
}

}  // namespace

InterruptScope::InterruptScope() {
  g_pressed.store(false);
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &g_previous);
}

InterruptScope::~InterruptScope() {
  ::sigaction(SIGINT, &g_previous, nullptr);
}

bool InterruptScope::was_pressed() {
  return g_pressed.load(std::memory_order_relaxed);
}

}  // namespace ingot
