// SPDX-License-Identifier: Apache-2.0
// INGOT_TEST_DEVICE=cuda runs whole-model tests on the first GPU; without it they run on the
// processor.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>

#include "model/model.h"

namespace ingot {

inline bool wants_device() {
  const char* const name = std::getenv("INGOT_TEST_DEVICE");
  return name != nullptr && std::string_view(name) == "cuda";
}

// Puts all of the model there, where it is wanted.
inline void place_as_wanted(ModelOptions& options) {
  if (!wants_device()) return;
  static const Result<std::shared_ptr<Device>> kDevice = open_device(0);
  ASSERT_TRUE(kDevice.is_ok()) << kDevice.status().message();
  options.device = *kDevice;
  options.device_layers = std::numeric_limits<int64_t>::max();
}

}  // namespace ingot
