// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ingot::cuda {

// Whether the current device has Hopper's tensor cores and copying units (sm_90a), and this program
// code for them.
bool is_hopper();

}  // namespace ingot::cuda
