// SPDX-License-Identifier: Apache-2.0
// Which kernels a test runs on: all of the machine's, or those that INGOT_TEST_KERNELS names. The
// build registers the tests of equality once for each target; where the machine lacks one, they say
// so and are skipped.
#pragma once

#include <cstdlib>

#include "kernels/target.h"
#include "model/dtype.h"

namespace ingot::testing {

inline Result<TargetSet> wanted_targets() {
  const char* name = std::getenv("INGOT_TEST_KERNELS");
  return TargetSet::parse(name == nullptr ? "auto" : name);
}

// A named target shows its dot products of bf16 on small models too.
inline ModelDtype wanted_dtype() {
  return std::getenv("INGOT_TEST_KERNELS") == nullptr ? ModelDtype::kAuto : ModelDtype::kBFloat16;
}

}  // namespace ingot::testing
