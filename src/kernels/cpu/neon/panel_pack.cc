// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/neon/panel_pack.h"

#include "kernels/panel_packer.h"

namespace ingot::cpu {

void pack_panels_neon(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
                      std::byte* out) {
  pack_all(source, packing, begin, end, out);
}

}  // namespace ingot::cpu
