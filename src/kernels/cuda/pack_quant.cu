// SPDX-License-Identifier: Apache-2.0
// Weights whose scales lie apart to panels. Thread -> one row of a panel and one run of 32 columns;
// the sixteen rows of a run are neighbours: they write a line of 64 bytes together, and read one
// where the file's words go down the columns.
#include <cuda_runtime_api.h>

#include "kernels/cuda/pack_panels.h"
#include "kernels/panel_quant.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;

struct PackQuantArgs {
  QuantCodes codes;
  PackingInfo facts;
  PanelShape shape;
  int64_t rows;
  std::byte* panels;
};

template <int kBits>
__global__ void __launch_bounds__(kThreads)
    pack_quant_kernel(const __grid_constant__ PackQuantArgs args) {
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t runs = args.codes.cols / kRunColumns;
  const int64_t lane = index % kPanelRows;
  const int64_t run = index / kPanelRows % runs;
  const int64_t panel = index / kPanelRows / runs;
  const int64_t row = panel * kPanelRows + lane;
  if (row >= args.rows) return;
  pack_quant_run<kBits>(args.codes, file_row(args.codes, row), run, args.facts, args.shape,
                        args.panels + panel * args.shape.panel, lane);
}

}  // namespace

void pack_quant(Packing packing, const QuantCodes& codes, int64_t rows, std::byte* panels,
                Stream stream) {
  const PackQuantArgs args{codes, packing_info(packing), shape_of_panel(packing, codes.cols), rows,
                           panels};
  const int64_t threads =
      (rows + kPanelRows - 1) / kPanelRows * kPanelRows * (codes.cols / kRunColumns);
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  switch (args.facts.bits) {
    case 2:
      return pack_quant_kernel<2><<<blocks, kThreads, 0, stream>>>(args);
    case 3:
      return pack_quant_kernel<3><<<blocks, kThreads, 0, stream>>>(args);
    case 4:
      return pack_quant_kernel<4><<<blocks, kThreads, 0, stream>>>(args);
    default:
      return pack_quant_kernel<8><<<blocks, kThreads, 0, stream>>>(args);
  }
}

}  // namespace ingot::cuda
