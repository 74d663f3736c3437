// SPDX-License-Identifier: Apache-2.0
#include "kernels/panel_packer.h"
#if INGOT_X86
#include "kernels/cpu/avx2/panel_pack.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/panel_pack.h"
#endif

namespace ingot {

void pack_panels(const PanelSource& source, Packing packing, int64_t begin, int64_t end,
                 std::byte* out) {
  pack_all(source, packing, begin, end, out);
}

PanelPacker choose_packer([[maybe_unused]] TargetSet targets) {
#if INGOT_X86
  if (targets.has(Target::kAvx2)) return cpu::pack_panels_avx2;
#endif
#if INGOT_ARM
  if (targets.has(Target::kNeon)) return cpu::pack_panels_neon;
#endif
  return pack_panels;
}

}  // namespace ingot
