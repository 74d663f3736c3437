// SPDX-License-Identifier: Apache-2.0
// CHECK: wrong code stops the process and says why. Never reachable from outside input.
#pragma once

namespace ingot {
[[noreturn]] void check_failed(const char* file, int line, const char* what);
}  // namespace ingot

#define INGOT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::ingot::check_failed(__FILE__, __LINE__, #condition))
#ifdef NDEBUG
#define INGOT_DCHECK(condition) static_cast<void>(0)
#else
#define INGOT_DCHECK(condition) INGOT_CHECK(condition)
#endif
