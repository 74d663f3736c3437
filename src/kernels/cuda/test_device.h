// SPDX-License-Identifier: Apache-2.0
// The GPU that tests run on; where there is none they say so and are skipped.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "kernels/device.h"

namespace ingot {

inline std::shared_ptr<Device> test_device() {
  static const std::shared_ptr<Device> kDevice = [] {
    Result<std::shared_ptr<Device>> device = open_device(0);
    return device.is_ok() ? *device : std::shared_ptr<Device>();
  }();
  return kDevice;
}

// What a test may be called for a parameter of this name.
inline std::string test_name(std::string_view name) {
  std::string result(name);
  for (char& letter : result)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return result;
}

}  // namespace ingot

#define INGOT_NEEDS_DEVICE() \
  if (ingot::test_device() == nullptr) GTEST_SKIP() << "no GPU: " << ingot::list_devices().why_none
