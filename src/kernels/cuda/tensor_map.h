// SPDX-License-Identifier: Apache-2.0
// How Hopper's copying unit is told where rows lie: a cache's or a linear layer's inputs (one
// page), a tensor of [pages, rows, elements] with strides of its own; or a matrix of bytes. One
// instruction brings a box of it (tensor_copy.cuh).
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace ingot::cuda {

// 16-bit elements in rows; what a box has beyond a row's end is zeros.
struct PagedRows {
  const std::byte* data;  // a multiple of 16
  int32_t elements;       // of a row; rows follow one another without gaps, multiples of 16 bytes
  int32_t rows;           // of a page
  int64_t page_stride;    // bytes, a multiple of 16
};

inline constexpr int32_t kBoxElements = 64;  // 128 bytes, swizzled as mma.cuh says

// Whether the driver makes maps.
bool has_maps();
// Boxes of `box_rows` (1 to 256) rows of kBoxElements each. False where the driver has no such
// maps or refuses this one: rows are then copied otherwise.
bool map_pages(const PagedRows& pages, int32_t box_rows, CUtensorMap& map);

// Rows of elements of any size; what a box has beyond a row's or the matrix's end is zeros.
struct MatrixRows {
  const std::byte* data;  // a multiple of 16
  int64_t width;          // bytes of a row
  int64_t stride;         // and from row to row, a multiple of 16
  int32_t rows;
};

inline constexpr int32_t kBoxWidth = 128;  // bytes, swizzled as mma.cuh says

// Boxes of `box_rows` (1 to 256) rows of kBoxWidth bytes each; false as of map_pages().
bool map_rows(const MatrixRows& matrix, int32_t box_rows, CUtensorMap& map);

}  // namespace ingot::cuda
