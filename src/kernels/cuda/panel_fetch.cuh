// SPDX-License-Identifier: Apache-2.0
// The order in which a warp of a block of threads reads panels: every kPanelWarps-th block of 256
// columns of a panel, panel after panel. Weights do not depend on other kernels, so they are sent
// for as soon as there is room.
#pragma once

#include "kernels/cuda/copy_ring.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/panel_codes.cuh"

namespace ingot::cuda {

inline constexpr int kPanelWarps = 8;

constexpr int panel_stages(Packing packing) {
  constexpr int64_t kBytes = 9 << 10;  // of a warp
  const int64_t stages = kBytes / shape_of_panel(packing, kBlockColumns).block;
  return static_cast<int>(stages < 2 ? 2 : (stages > 4 ? 4 : stages));
}

template <Packing kPacking>
class PanelFetch {
  static constexpr PanelShape kShape = PackingFacts<kPacking>::kShape;
  static constexpr auto kBytes = static_cast<int>(kShape.block);
  static constexpr int kStages = panel_stages(kPacking);

 public:
  static constexpr size_t kSharedBytes = size_t{kPanelWarps} * kStages * kShape.block;
  struct Barriers {
    uint64_t of[kPanelWarps][kStages];
  };

  // Panels `first`, `first` + `distance` and so on.
  __device__ PanelFetch(const LinearParts& parts, int first, int distance, uint4* memory,
                        Barriers& barriers)
      : parts_(parts),
        warp_(__shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 32, 0)),
        ring_(reinterpret_cast<std::byte*>(memory) + warp_ * kStages * kBytes, barriers.of[warp_]),
        runs_(static_cast<int>(parts.cols / kRunColumns)),
        blocks_((runs_ + 7) / 8),
        last_bytes_(static_cast<int>(kShape.scales + (runs_ - (blocks_ - 1) * 8) * kShape.run)),
        panels_(tiles_of(parts, kRowsOfTile)),
        distance_(distance),
        panel_(warp_ < blocks_ ? first : panels_) {
    begin_panel();
#pragma unroll
    for (int i = 0; i < kStages; ++i)
      fetch();
  }

  int __device__ runs() const {
    return runs_;
  }
  int __device__ blocks() const {
    return blocks_;
  }
  int __device__ panels() const {
    return panels_;
  }
  // The next block, once it is there; then on to the one behind it.
  __device__ const std::byte* wait() const {
    return ring_.wait();
  }
  __device__ void go_on() {
    ring_.release();
    fetch();
  }

 private:
  __device__ void begin_panel() {
    block_ = warp_;
    if (panel_ >= panels_) return;
    const TilePlace place = find_tile(parts_, panel_, kRowsOfTile);
    const LinearPart& part = parts_.part[place.part];
    at_ = part.weights + place.tile * part.stride + warp_ * kBytes;
  }
  __device__ void fetch() {
    if (panel_ >= panels_) return ring_.fetch(nullptr, 0);
    constexpr auto kWhole = static_cast<int>(kShape.scales + 8 * kShape.run);
    ring_.fetch(at_, block_ == blocks_ - 1 ? last_bytes_ : kWhole);
    at_ += kPanelWarps * kBytes;
    block_ += kPanelWarps;
    if (block_ >= blocks_) {
      panel_ += distance_;
      begin_panel();
    }
  }

  const LinearParts& parts_;
  int warp_;  // the same in all lanes, and known to be: addresses are then computed once for all
  WeightRing<kBytes, kStages> ring_;
  int runs_;
  int blocks_;
  int last_bytes_;  // of a panel's last block
  int panels_;
  int distance_;
  int panel_;  // of the block to be sent for next
  int block_ = 0;
  const std::byte* at_ = nullptr;
};

}  // namespace ingot::cuda
