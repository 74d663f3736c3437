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

}  // namespace ingot

#define INGOT_NEEDS_DEVICE() \
  if (ingot::test_device() == nullptr) GTEST_SKIP() << "no GPU: " << ingot::list_devices().why_none
