// SPDX-License-Identifier: Apache-2.0
// Rows of a file's blocks to panels. Thread -> one row of a panel and one unit of 32 or 256
// columns; the sixteen rows of a unit are neighbours, which write a line of 64 bytes together.
// Reads are of single bytes, far apart, from lines that the cache keeps until they are used up:
// plain, as the bus that brings the weights is what a load waits for.
#include <cuda_runtime_api.h>

#include "kernels/cuda/pack_panels.h"
#include "kernels/panel_units.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;

struct PackRowsArgs {
  const std::byte* weights;
  int64_t row_bytes;
  int64_t rows;
  int64_t units;  // of a row
  PanelShape shape;
  std::byte* panels;
};

template <class Unit>
__global__ void __launch_bounds__(kThreads)
    pack_rows_kernel(const __grid_constant__ PackRowsArgs args) {
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t lane = index % kPanelRows;
  const int64_t unit = index / kPanelRows % args.units;
  const int64_t panel = index / kPanelRows / args.units;
  const int64_t row = panel * kPanelRows + lane;
  if (row >= args.rows) return;
  Unit::pack(args.weights + row * args.row_bytes, unit, args.shape,
             args.panels + panel * args.shape.panel, lane);
}

}  // namespace

void pack_rows(const RowsToPack& rows, std::byte* panels, Stream stream) {
  visit_unit(rows.layout, [&]<class Unit>() {
    const PackRowsArgs args{rows.weights,
                            rows.row_bytes,
                            rows.rows,
                            rows.cols / Unit::kColumns,
                            shape_of_panel(rows.packing, rows.cols),
                            panels};
    const int64_t threads = (rows.rows + kPanelRows - 1) / kPanelRows * kPanelRows * args.units;
    const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
    pack_rows_kernel<Unit><<<blocks, kThreads, 0, stream>>>(args);
  });
}

}  // namespace ingot::cuda
