// SPDX-License-Identifier: Apache-2.0
// Two packings in one launch, for a single token: q and k have fewer bits than v in many files, and
// v alone is too little to keep the memory busy. Each has its share of the blocks of threads.
#include <algorithm>

#include "kernels/cuda/linear_one.cuh"

namespace ingot::cuda {
namespace {

template <Packing kFirst, Packing kSecond>
__global__ void __launch_bounds__(32 * kPanelWarps)
    linear_pair_kernel(const __grid_constant__ LinearParts first,
                       const __grid_constant__ LinearParts second, int first_blocks,
                       const __grid_constant__ ByteInput x) {
  const auto block = static_cast<int>(blockIdx.x);
  if (block < first_blocks) {
    multiply_all<kFirst>(first, x, {block, first_blocks});
  } else {
    multiply_all<kSecond>(second, x,
                          {block - first_blocks, static_cast<int>(gridDim.x) - first_blocks});
  }
}

template <Packing kFirst, Packing kSecond>
void launch_pair(const LinearParts& first, const LinearParts& second, const ByteInput& x,
                 Stream stream) {
  const auto kernel = linear_pair_kernel<kFirst, kSecond>;
  constexpr size_t kShared =
      std::max(PanelFetch<kFirst>::kSharedBytes, PanelFetch<kSecond>::kSharedBytes);
  const int panels[2] = {tiles_of(first, kRowsOfTile), tiles_of(second, kRowsOfTile)};
  const auto room = static_cast<int>(resident_blocks(kernel, 32 * kPanelWarps, kShared));
  const int all = std::min(room, panels[0] + panels[1]);
  // By their bytes.
  const double bytes[2] = {
      static_cast<double>(panels[0]) * static_cast<double>(PackingFacts<kFirst>::kShape.block),
      static_cast<double>(panels[1]) * static_cast<double>(PackingFacts<kSecond>::kShape.block)};
  const auto share = static_cast<int>(all * bytes[1] / (bytes[0] + bytes[1]) + 0.5);
  const int second_blocks = std::clamp(share, std::max(1, all - panels[0]), panels[1]);
  const int first_blocks = std::min(all - second_blocks, panels[0]);
  launch_early(
      kernel,
      {dim3(static_cast<unsigned>(first_blocks + second_blocks)), 32 * kPanelWarps, kShared},
      stream, first, second, first_blocks, x);
}

}  // namespace

bool linear_pair(Packing packing, const LinearParts& first, Packing second_packing,
                 const LinearParts& second, const ByteInput& x, Stream stream) {
  const auto is = [&](Packing a, Packing b) { return packing == a && second_packing == b; };
  using enum Packing;
  if (is(kBlocks4Min, kBlocks6)) {
    launch_pair<kBlocks4Min, kBlocks6>(first, second, x, stream);
  } else if (is(kBlocks5Min, kBlocks6)) {
    launch_pair<kBlocks5Min, kBlocks6>(first, second, x, stream);
  } else if (is(kBlocks4Min, kBlocks5Min)) {
    launch_pair<kBlocks4Min, kBlocks5Min>(first, second, x, stream);
  } else if (is(kBlocks3, kBlocks5Min)) {
    launch_pair<kBlocks3, kBlocks5Min>(first, second, x, stream);
  } else if (is(kBlocks3, kBlocks4Min)) {
    launch_pair<kBlocks3, kBlocks4Min>(first, second, x, stream);
  } else if (is(kBlocks2Min, kBlocks4Min)) {
    launch_pair<kBlocks2Min, kBlocks4Min>(first, second, x, stream);
  } else if (is(kBlocks2Min, kBlocks3)) {
    launch_pair<kBlocks2Min, kBlocks3>(first, second, x, stream);
  } else {
    return false;
  }
  return true;
}

}  // namespace ingot::cuda
