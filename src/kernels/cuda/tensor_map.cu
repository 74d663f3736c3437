// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <limits>

#include "kernels/cuda/tensor_map.h"

namespace ingot::cuda {
namespace {

using EncodeTiled = decltype(&cuTensorMapEncodeTiled);

// The driver's own function: it is asked for, as the driver's library is not linked.
EncodeTiled find_encoder() {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                             12000, cudaEnableDefault, &result);
#else
  const cudaError_t error =
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
  if (error != cudaSuccess) {
    cudaGetLastError();  // nobody is to find it later and take it for his own
    return nullptr;
  }
  return result == cudaDriverEntryPointSuccess ? reinterpret_cast<EncodeTiled>(found) : nullptr;
}

EncodeTiled encoder() {
  static const EncodeTiled found = find_encoder();
  return found;
}

}  // namespace

bool has_maps() {
  return encoder() != nullptr;
}

bool map_pages(const PagedRows& pages, int32_t box_rows, CUtensorMap& map) {
  const EncodeTiled encode = encoder();
  if (encode == nullptr) return false;
  // How many pages there are is the page tables' business: none of them names one that is not.
  const cuuint64_t sizes[3] = {static_cast<cuuint64_t>(pages.elements),
                               static_cast<cuuint64_t>(pages.rows),
                               static_cast<cuuint64_t>(std::numeric_limits<int32_t>::max())};
  const cuuint64_t strides[2] = {static_cast<cuuint64_t>(pages.elements) * 2,
                                 static_cast<cuuint64_t>(pages.page_stride)};
  const cuuint32_t box[3] = {static_cast<cuuint32_t>(kBoxElements),
                             static_cast<cuuint32_t>(box_rows), 1};
  const cuuint32_t steps[3] = {1, 1, 1};
  return encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, 3, const_cast<std::byte*>(pages.data), sizes,
                strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

bool map_rows(const MatrixRows& matrix, int32_t box_rows, CUtensorMap& map) {
  const EncodeTiled encode = encoder();
  if (encode == nullptr) return false;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(matrix.width),
                               static_cast<cuuint64_t>(matrix.rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(matrix.stride)};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(kBoxWidth), static_cast<cuuint32_t>(box_rows)};
  const cuuint32_t steps[2] = {1, 1};
  return encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 2, const_cast<std::byte*>(matrix.data), sizes,
                strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

}  // namespace ingot::cuda
