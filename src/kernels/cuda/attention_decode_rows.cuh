// SPDX-License-Identifier: Apache-2.0
// The step's own rows in decode attention: queries, and a sequence's newest key and value, which
// are rotated by position on their way into shared memory. A warp takes a row, lane l elements 32 j
// + l. Loads are apart from their use, so that copies can be sent for in between.
#pragma once

#include "kernels/cuda/attention_decode_view.cuh"
#include "kernels/cuda/attention_store.cuh"

namespace ingot::cuda {

// Strides are of 32 bits; their products are not.
__device__ __forceinline__ uint64_t offset_of(int row, int64_t stride) {
  return static_cast<uint64_t>(static_cast<uint32_t>(row)) * static_cast<uint32_t>(stride);
}

// A row whose two halves turn with each other, so that a lane has both: half the loads of
// LoadedRow, without a condition.
template <int kCount>
struct HalvesRow {
  float x[kCount];
  float cos[kCount / 2];
  float sin[kCount / 2];
};
template <int kCount>
__device__ __forceinline__ void load_row(const float* from, int /*dim*/, const RopeRows& rope,
                                         int row, bool /*is_row*/, int lane,
                                         HalvesRow<kCount>& loaded) {
  from += lane;
  const int first = row * rope.pairs + lane;
  const float* cos = rope.cos + first;
  const float* sin = rope.sin + first;
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    loaded.x[j] = from[32 * j];
#pragma unroll
  for (int j = 0; j < kCount / 2; ++j) {
    loaded.cos[j] = cos[32 * j];
    loaded.sin[j] = sin[32 * j];
  }
}
template <int kCount>
__device__ __forceinline__ void turn_row(const HalvesRow<kCount>& loaded, const RopeRows& /*rope*/,
                                         int /*lane*/, float (&x)[kCount]) {
  constexpr int kHalf = kCount / 2;
#pragma unroll
  for (int j = 0; j < kHalf; ++j) {
    const float a = loaded.x[j];
    const float b = loaded.x[j + kHalf];
    x[j] = __fsub_rn(__fmul_rn(a, loaded.cos[j]), __fmul_rn(b, loaded.sin[j]));
    x[j + kHalf] = __fadd_rn(__fmul_rn(b, loaded.cos[j]), __fmul_rn(a, loaded.sin[j]));
  }
}

// Queries no row of the block has stay what they are in shared memory: nothing looks at what
// becomes of them.
template <class View, bool kHalves>
class DecodeRows {
  using Shape = typename View::Shape;
  static constexpr int kCount = Shape::kDim / 32;
  static constexpr int kTogether = 4;  // that registers have room for
  using Row = std::conditional_t<kHalves, HalvesRow<kCount>, LoadedRow<kCount>>;

 public:
  __device__ explicit DecodeRows(const View& of) : view(of) {}

  // A warp's first queries and, where it has_newest, the newest key or value.
  __device__ __forceinline__ void load(bool has_newest) {
    const AttentionArgs& args = view.args;
    if constexpr (Shape::kStores) {
      if (has_newest && view.warp == kKeyWarp) {
        const int dim = args.kv.key_dim;
        load_row(args.fresh.k + offset_of(view.first_row, args.fresh.k_stride) + view.kv_head * dim,
                 dim, args.rope, view.first_row, true, view.lane, fresh);
      } else if (has_newest && view.warp == kValueWarp) {
        const int dim = args.kv.value_dim;
        const float* from = args.fresh.v + offset_of(view.first_row, args.fresh.v_stride);
        from += view.kv_head * dim + view.lane;
#pragma unroll
        for (int j = 0; j < kCount; ++j)
          fresh.x[j] = 32 * j + view.lane < dim ? from[32 * j] : 0.0F;
      }
    }
    load_queries(view.warp);
  }

  __device__ __forceinline__ void put(bool has_newest) {
    put_queries(view.warp);
    if constexpr (Shape::kTiles > 1) {
#pragma unroll 1
      for (int first = view.warp + kTogether * kDecodeWarps; first < view.queries;
           first += kTogether * kDecodeWarps) {
        load_queries(first);
        put_queries(first);
      }
    }
    if constexpr (Shape::kStores) {
      if (!has_newest) return;
      auto* to = reinterpret_cast<std::byte*>(view.memory + Shape::kNewest);
      if (view.warp == kKeyWarp) {
        float x[kCount];
        turn_row(fresh, view.args.rope, view.lane, x);
        store_row<kCount, true>(Shape::kCache, x, view.args.kv.key_dim, view.lane, to);
      } else if (view.warp == kValueWarp) {
        store_row<kCount, false>(Shape::kCache, fresh.x, view.args.kv.value_dim, view.lane,
                                 to + Shape::kRowBytes);
      }
      __syncwarp();
    }
  }

 private:
  __device__ __forceinline__ void load_queries(int first) {
    const AttentionArgs& args = view.args;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int at = first + i * kDecodeWarps;
      if (at >= view.queries) break;
      const int query = view.first_query + at;
      const int row = view.first_row + view.token_of(query);
      const float* q =
          args.q + offset_of(row, args.q_stride) + view.head_of(query) * args.kv.key_dim;
      load_row(q, args.kv.key_dim, args.rope, row, true, view.lane, rows[i]);
    }
  }
  __device__ __forceinline__ void put_queries(int first) const {
    const AttentionArgs& args = view.args;
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      const int row = first + i * kDecodeWarps;
      if (row >= view.queries) break;
      float x[kCount];
      turn_row(rows[i], args.rope, view.lane, x);
      if (rotates_keys(Shape::kCache)) rotate(x, args.kv.key_dim & -args.kv.key_dim, view.lane);
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        const int column = Shape::kIsWide ? 32 * j + view.lane : permuted(32 * j + view.lane);
        auto* to = reinterpret_cast<typename Shape::Element*>(
            view.memory + Shape::kQuery + row * Shape::kDim * 2 + 16 * swizzled(row, column / 8));
        to[column % 8] = static_cast<typename Shape::Element>(x[j]);
      }
    }
  }

  const View& view;
  Row rows[kTogether];
  Row fresh;
};

// By one warp; a lane's 16 bytes become chunk `to_chunk`. Rows of int8 begin at any even address.
template <class View>
__device__ __forceinline__ void copy_newest(const View& view, const uint8_t* from, int row_bytes,
                                            int to_chunk, uint8_t* to) {
  if constexpr (View::Shape::kIsInt8) {
    for (int byte = 2 * view.lane; byte < row_bytes; byte += 2 * 32)
      *reinterpret_cast<uint16_t*>(to + byte) = *reinterpret_cast<const uint16_t*>(from + byte);
  } else if (16 * view.lane < row_bytes) {
    *reinterpret_cast<uint4*>(to + 16 * to_chunk) =
        *reinterpret_cast<const uint4*>(from + 16 * view.lane);
  }
}
// The newest key or value, which its warp made before, into its place of the split's tile.
template <bool kIsKey, class View>
__device__ __forceinline__ void put_newest_in_tile(const View& view, int split) {
  using Shape = typename View::Shape;
  if (view.warp != (kIsKey ? kKeyWarp : kValueWarp)) return;
  const KvLayout& layout = view.step.layout;
  const int row_bytes = kIsKey ? layout.key_row_bytes : layout.value_row_bytes;
  const int row = view.end - 1 - split * Shape::kSplit;
  copy_newest(view, view.memory + Shape::kNewest + (kIsKey ? 0 : Shape::kRowBytes), row_bytes,
              Shape::kIsWide ? swizzled(row, view.lane) : view.lane,
              view.memory + (kIsKey ? Shape::kKeys : Shape::kValues) +
                  row * (Shape::kIsInt8 ? row_bytes : Shape::kRowBytes));
}
// And into its page, where it has one.
template <bool kIsKey, class View>
__device__ __forceinline__ void put_newest_in_page(const View& view, int split,
                                                   const uint64_t* places) {
  using Shape = typename View::Shape;
  if (view.warp != (kIsKey ? kKeyWarp : kValueWarp)) return;
  const KvLayout& layout = view.step.layout;
  const int row_bytes = kIsKey ? layout.key_row_bytes : layout.value_row_bytes;
  const int row = view.end - 1 - split * Shape::kSplit;
  const uint64_t run = places[row / 8];
  if (run == 0) return;
  copy_newest(view, view.memory + Shape::kNewest + (kIsKey ? 0 : Shape::kRowBytes), row_bytes,
              view.lane, reinterpret_cast<uint8_t*>(run) + row % 8 * row_bytes);
}
// Both, beside the copies of the split's other rows. Those of int8 come with the newest row's old
// bytes: its tile gets it when they have arrived.
template <bool kIsKey, class View>
__device__ __forceinline__ void put_newest(const View& view, int split, const uint64_t* places) {
  if constexpr (!View::Shape::kIsInt8) put_newest_in_tile<kIsKey>(view, split);
  put_newest_in_page<kIsKey>(view, split, places);
}

}  // namespace ingot::cuda
