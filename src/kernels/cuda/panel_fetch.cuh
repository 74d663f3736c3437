// SPDX-License-Identifier: Apache-2.0
// The order in which a warp of a block of threads reads panels: every kPanelWarps-th block of 256
// columns of a panel, panel after panel as the block's turns are. Weights do not depend on other
// kernels, so they are sent for as soon as there is room.
#pragma once

#include "kernels/cuda/copy_ring.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/panel_codes.cuh"
#include "kernels/cuda/turns.cuh"

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

  // Two blocks of weights under way are large ones, of eight bits: with draws in between Q8_0 was
  // a tenth slower.
  using Turns = cuda::Turns<(kStages > 2)>;
  static __device__ Turns turns(const LinearParts& parts, const BlockShare& share,
                                typename Turns::Drawn& drawn) {
    const auto blocks = static_cast<int>((parts.cols + kBlockColumns - 1) / kBlockColumns);
    return {share, tiles_of(parts, kRowsOfTile), ahead(blocks), parts.counters, drawn};
  }

  __device__ PanelFetch(const LinearParts& parts, const Turns& turns, uint4* memory,
                        Barriers& barriers)
      : parts_(parts),
        turns_(turns),
        warp_(__shfl_sync(0xFFFFFFFF, static_cast<int>(threadIdx.x) / 32, 0)),
        ring_(reinterpret_cast<std::byte*>(memory) + warp_ * kStages * kBytes, barriers.of[warp_]),
        runs_(static_cast<int>(parts.cols / kRunColumns)),
        blocks_((runs_ + 7) / 8),
        last_bytes_(static_cast<int>(kShape.scales + (runs_ - (blocks_ - 1) * 8) * kShape.run)),
        has_panels_(warp_ < blocks_) {
    begin_panel();
    // One after the other, where copies can be seen to arrive: all at once would keep the memory
    // busy for microseconds, and the small kernel that this one waits for would wait in that queue.
#pragma unroll
    for (int i = 0; i < kStages; ++i) {
      if (i > 0 && has_panels_) ring_.wait_for(i - 1);
      fetch();
    }
  }

  int __device__ runs() const {
    return runs_;
  }
  int __device__ blocks() const {
    return blocks_;
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
  // How many panels ahead a warp may look.
  static __device__ int ahead(int blocks) {
    return 1 + kStages / (blocks < kPanelWarps ? 1 : blocks / kPanelWarps);
  }
  __device__ void begin_panel() {
    block_ = warp_;
    const int panel = turns_.at(round_);
    has_panels_ = has_panels_ && panel < turns_.count();
    if (!has_panels_) return;
    const TilePlace place = find_tile(parts_, panel, kRowsOfTile);
    const LinearPart& part = parts_.part[place.part];
    at_ = part.weights + place.tile * part.stride + warp_ * kBytes;
  }
  __device__ void fetch() {
    if (!has_panels_) return ring_.fetch(nullptr, 0);
    constexpr auto kWhole = static_cast<int>(kShape.scales + 8 * kShape.run);
    ring_.fetch(at_, block_ == blocks_ - 1 ? last_bytes_ : kWhole);
    at_ += kPanelWarps * kBytes;
    block_ += kPanelWarps;
    if (block_ >= blocks_) {
      ++round_;
      begin_panel();
    }
  }

  const LinearParts& parts_;
  const Turns& turns_;
  int warp_;  // the same in all lanes, and known to be: addresses are then computed once for all
  WeightRing<kBytes, kStages> ring_;
  int runs_;
  int blocks_;
  int last_bytes_;   // of a panel's last block
  bool has_panels_;  // there is something to be sent for
  int round_ = 0;    // of what is sent for next
  int block_ = 0;
  const std::byte* at_ = nullptr;
};

}  // namespace ingot::cuda
