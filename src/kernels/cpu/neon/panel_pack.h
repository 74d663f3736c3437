// SPDX-License-Identifier: Apache-2.0
// The packer of panels, built for NEON.
#pragma once

#include "kernels/panel.h"

namespace ingot::cpu {

void pack_panels_neon(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
                      std::byte* out);

}  // namespace ingot::cpu
