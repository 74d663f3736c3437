// SPDX-License-Identifier: Apache-2.0
// How a warp reads weights in rows: of every tile of 16 rows it takes every kRowWarps-th chunk of
// 128 columns, tile after tile, and copies stay under way from one tile to the next. Lane (g, t)
// fetches what it will read itself, rows g and g + 8, the t-th 16 bytes of every 64. Weights do not
// depend on other kernels, so they are sent for as soon as there is room.
#pragma once

#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/turns.cuh"

namespace ingot::cuda {

inline constexpr int kRowWarps = 8;
inline constexpr int kRowChunk = 128;  // columns that a warp takes at once

// Facts: kElementBytes; kHasScales, of each 128 columns or of the row.
template <class Facts>
class RowFetch {
 public:
  static constexpr int kPiece = 16 / Facts::kElementBytes;  // columns that a lane reads at once
  static constexpr int kPieces = kRowChunk / (4 * kPiece);
  struct Chunk {
    uint4 words[2][kPieces];
    float scales[2];  // of the two rows
  };

 private:
  static constexpr int kStageBytes = kRowsOfTile * kRowChunk * Facts::kElementBytes;
  static constexpr int kStages = (8 << 10) / kStageBytes;  // 64 KiB of a block of threads
  static constexpr int kScaleBytes = Facts::kHasScales ? kRowsOfTile * 4 : 0;

 public:
  static constexpr int kWarpBytes = kStages * (kStageBytes + kScaleBytes);
  static constexpr size_t kSharedBytes = size_t{kRowWarps} * kWarpBytes;

  using Turns = cuda::Turns<true>;
  // How many tiles ahead a warp may look.
  static __device__ int ahead(int64_t cols) {
    const auto each = static_cast<int>(cols / (kRowWarps * kRowChunk));
    return 1 + kStages / (each < 1 ? 1 : each);
  }

  // Every tile of rows comes `repeats` times, for one tile of tokens each.
  __device__ RowFetch(const LinearParts& parts, const Turns& turns, int repeats, uint4* memory)
      : parts_(parts),
        turns_(turns),
        repeats_(repeats),
        cols_(static_cast<int>(parts.cols)),
        memory_(shared_address(memory) + warp() * kWarpBytes + lane() * 16),
        scales_(shared_address(memory) + warp() * kWarpBytes + kStages * kStageBytes +
                lane() / 4 * 4),
        has_tiles_(warp() < chunks()) {
    find_rows();
    // One after the other: see PanelFetch.
#pragma unroll 1
    for (int i = 0; i < kStages; ++i) {
      wait_for_copies<0>();
      fetch();
    }
  }

  __device__ int chunks() const {
    return (cols_ + kRowChunk - 1) / kRowChunk;
  }
  __device__ TilePlace place(int tile) const {
    return find_tile<Facts::kIsGated>(parts_, tile / repeats_, kRowsOfTile);
  }

  // The next chunk; another is sent for in its place. All lanes together.
  __device__ Chunk next() {
    wait_for_copies<kStages - 1>();
    if constexpr (Facts::kHasScales) __syncwarp();  // scales come by other lanes
    Chunk chunk;
    const uint32_t from = memory_ + stage_ * kStageBytes;
#pragma unroll
    for (int row = 0; row < 2; ++row) {
#pragma unroll
      for (int i = 0; i < kPieces; ++i)
        chunk.words[row][i] = load_shared(from + (row * kPieces + i) * 512);
      if constexpr (Facts::kHasScales)
        chunk.scales[row] = load_shared_float(scales_ + stage_ * kScaleBytes + row * 32);
    }
    if constexpr (Facts::kHasScales) __syncwarp();  // all lanes have read them
    fetch();
    return chunk;
  }

 private:
  static __device__ int warp() {
    return static_cast<int>(threadIdx.x) / 32;
  }
  static __device__ int lane() {
    return static_cast<int>(threadIdx.x) % 32;
  }
  // Of the tile.
  static __device__ int own_row(int which) {
    return lane() / 4 + 8 * which;
  }

  static __device__ uint4 load_shared(uint32_t from) {
    uint4 words;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
                 : "r"(from)
                 : "memory");
    return words;
  }
  static __device__ float load_shared_float(uint32_t from) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(from) : "memory");
    return value;
  }

  // Those of the tile to be sent for next, from this warp's first chunk on. When there is none the
  // next kernel may take the place of blocks of threads that end.
  __device__ void find_rows() {
    const int tile = turns_.at(round_);
    has_tiles_ = has_tiles_ && tile < turns_.count();
    if (!has_tiles_) return let_next_begin();
    const TilePlace at = place(tile);
    first_col_ = warp() * kRowChunk;
    const int lane_col = first_col_ + lane() % 4 * kPiece;
    const auto row_of = [&](int which) {
      const int row = find_row<Facts::kIsGated>(at, own_row(which), kRowsOfTile).row;
      return min(row, parts_.part[at.part].rows - 1);
    };
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      // Gate and up are alike but for where they lie.
      const LinearPart& part = parts_.part[Facts::kIsGated ? i : at.part];
      rows_[i] =
          part.weights + row_of(i) * parts_.part[at.part].stride + lane_col * Facts::kElementBytes;
    }
    if constexpr (Facts::kHasScales) {
      // Lanes t = 0 and 1 fetch those of rows g and g + 8.
      const LinearPart& part = parts_.part[at.part];
      const bool is_one = part.scale_spans == 1;
      row_scales_ = part.row_scales + row_of(lane() % 2) * part.scale_spans + (is_one ? 0 : warp());
      scale_step_ = is_one ? 0 : kRowWarps;
    }
  }

  __device__ void fetch() {
    if (has_tiles_) {
      const uint32_t to = memory_ + stage_ * kStageBytes;
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        const bool is_in = first_col_ + (i * 4 + lane() % 4) * kPiece < cols_;
        copy_async_or_zero(to + i * 512, rows_[0] + i * 64, is_in);
        copy_async_or_zero(to + (kPieces + i) * 512, rows_[1] + i * 64, is_in);
      }
      if constexpr (Facts::kHasScales) {
        if (lane() % 4 < 2)
          copy_async_4(scales_ + stage_ * kScaleBytes + lane() % 2 * 32, row_scales_);
        row_scales_ += scale_step_;
      }
      constexpr int kStep = kRowWarps * kRowChunk;
      rows_[0] += kStep * Facts::kElementBytes;
      rows_[1] += kStep * Facts::kElementBytes;
      first_col_ += kStep;
      if (first_col_ >= cols_) {
        ++round_;
        find_rows();
      }
    }
    close_copies();
    stage_ = stage_ + 1 == kStages ? 0 : stage_ + 1;
  }

  const LinearParts& parts_;
  const Turns& turns_;
  int repeats_;
  int cols_;
  uint32_t memory_;  // this lane's of this warp's stages: [stage][row, piece][lane] of 16 bytes
  uint32_t scales_;  // of row g, of this warp's: [stage][row]
  int stage_ = 0;
  // What is to be sent for next.
  bool has_tiles_;  // there is something
  int round_ = 0;
  int first_col_ = 0;  // of the chunk
  const std::byte* rows_[2] = {};
  const float* row_scales_ = nullptr;
  int scale_step_ = 0;
};

}  // namespace ingot::cuda
