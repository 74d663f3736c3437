// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul_library.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <map>
#include <tuple>

#include "base/log.h"
#include "kernels/cuda/cuda_memory.h"

namespace ingot::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{64} << 20;

// The functions we call, by their own names.
struct Functions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
};

template <class Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool load_all(void* library, Functions& to) {
  return load(library, "cublasLtCreate", to.create) &&
         load(library, "cublasLtDestroy", to.destroy) &&
         load(library, "cublasLtMatmul", to.matmul) &&
         load(library, "cublasLtMatmulDescCreate", to.desc_create) &&
         load(library, "cublasLtMatmulDescDestroy", to.desc_destroy) &&
         load(library, "cublasLtMatmulDescSetAttribute", to.desc_set) &&
         load(library, "cublasLtMatrixLayoutCreate", to.layout_create) &&
         load(library, "cublasLtMatrixLayoutDestroy", to.layout_destroy) &&
         load(library, "cublasLtMatmulPreferenceCreate", to.preference_create) &&
         load(library, "cublasLtMatmulPreferenceDestroy", to.preference_destroy) &&
         load(library, "cublasLtMatmulPreferenceSetAttribute", to.preference_set) &&
         load(library, "cublasLtMatmulAlgoGetHeuristic", to.heuristic);
}

// Alignment that all tensor-core products of bytes ask for, in elements.
constexpr int64_t kByteAlignment = 16;

cudaDataType_t input_type(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return CUDA_R_16F;
    case ElementType::kBF16:
      return CUDA_R_16BF;
    case ElementType::kE4M3:
      return CUDA_R_8F_E4M3;
    case ElementType::kInt8:
      return CUDA_R_8I;
    case ElementType::kF32:
      break;
  }
  return CUDA_R_32F;
}

bool has_bytes(ElementType type) {
  return type == ElementType::kE4M3 || type == ElementType::kInt8;
}

bool is_aligned(const MatMul& args) {
  if (!has_bytes(args.type)) return true;
  for (const int64_t size :
       {args.rows, args.cols, args.weight_stride, args.x_stride, args.y_stride}) {
    if (size % kByteAlignment != 0) return false;
  }
  return true;
}

class CublasLt final : public MatMulLibrary {
 public:
  CublasLt(const Functions& functions, cublasLtHandle_t handle, Memory workspace)
      : functions_(functions), handle_(handle), workspace_(std::move(workspace)) {}
  ~CublasLt() override {
    for (auto& [shape, plan] : plans_)
      destroy(plan);
    functions_.destroy(handle_);
  }

  bool run(const MatMul& args, Stream stream) override {
    if (!is_aligned(args)) return false;
    const TokenTiles& tiles = args.tiles;
    const int64_t full = args.tokens / tiles.each;
    const int64_t left = args.tokens - full * tiles.each;
    for (int64_t i = 0; i < full; ++i) {
      void* const y = static_cast<char*>(args.y) + i * tiles.each * args.y_stride * kSumBytes;
      if (!run_tile(args, i * tiles.each, tiles.each, y, stream)) return false;
    }
    if (left == 0) return true;
    if (!run_tile(args, full * tiles.each, tiles.last, args.tail, stream)) return false;
    // The library writes all of a tile, y has no more than the tokens.
    void* const y = static_cast<char*>(args.y) + full * tiles.each * args.y_stride * kSumBytes;
    const auto bytes = [](int64_t sums) { return static_cast<size_t>(sums * kSumBytes); };
    return cudaMemcpy2DAsync(y, bytes(args.y_stride), args.tail, bytes(args.y_stride),
                             bytes(args.rows), static_cast<size_t>(left), cudaMemcpyDeviceToDevice,
                             stream) == cudaSuccess;
  }

 private:
  static constexpr int64_t kSumBytes = 4;

  struct Plan {
    bool is_offered = false;
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t a = nullptr;
    cublasLtMatrixLayout_t b = nullptr;
    cublasLtMatrixLayout_t d = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };
  struct Shape {
    ElementType type;
    ProductScales scales;
    bool has_bias;
    bool is_batch_invariant;
    int64_t rows, cols, tokens, weight_stride, x_stride, y_stride;

    auto all() const {
      return std::tie(type, scales, has_bias, is_batch_invariant, rows, cols, tokens, weight_stride,
                      x_stride, y_stride);
    }
    bool operator<(const Shape& other) const { return all() < other.all(); }
  };

  // Columns first, as the library thinks: y^T [rows, tokens] = W [rows, cols] x^T [cols, tokens].
  bool run_tile(const MatMul& args, int64_t first, int64_t tokens, void* y, Stream stream) {
    Plan& plan = plan_for(args, tokens);
    if (!plan.is_offered) return false;
    const int64_t spans =
        args.scales == ProductScales::kBlocks ? (args.cols + kScaleBlock - 1) / kScaleBlock : 1;
    const float* const x_scales =
        args.scales == ProductScales::kNone ? nullptr : args.x_scales + first * spans;
    const void* const x =
        static_cast<const char*>(args.x) + first * args.x_stride * (has_bytes(args.type) ? 1 : 2);
    bool is_ready = args.bias == nullptr || set(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias);
    if (args.scales != ProductScales::kNone) {
      is_ready = is_ready && set(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, args.weight_scales) &&
                 set(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, x_scales);
    }
    // Factors are of the sums' type.
    const float float_factors[] = {1, 0};
    const int32_t whole_factors[] = {1, 0};
    const bool is_whole = args.type == ElementType::kInt8;
    const void* const one = is_whole ? static_cast<const void*>(&whole_factors[0]) : float_factors;
    const void* const zero =
        is_whole ? static_cast<const void*>(&whole_factors[1]) : &float_factors[1];
    // What the heuristic promised may still be refused: it is then not asked for again.
    plan.is_offered =
        is_ready &&
        functions_.matmul(handle_, plan.desc, one, args.weights, plan.a, x, plan.b, zero, y, plan.d,
                          y, plan.d, &plan.algorithm, workspace_.data(), workspace_.size(),
                          stream) == CUBLAS_STATUS_SUCCESS;
    return plan.is_offered;
  }

  Plan& plan_for(const MatMul& args, int64_t tokens) {
    const Shape shape{.type = args.type,
                      .scales = args.scales,
                      .has_bias = args.bias != nullptr,
                      .is_batch_invariant = args.is_batch_invariant,
                      .rows = args.rows,
                      .cols = args.cols,
                      .tokens = tokens,
                      .weight_stride = args.weight_stride,
                      .x_stride = args.x_stride,
                      .y_stride = args.y_stride};
    const auto [it, is_new] = plans_.try_emplace(shape);
    if (is_new)
      it->second.is_offered = describe(args, shape, it->second) && choose(shape, it->second);
    return it->second;
  }

  template <class Value>
  bool set(Plan& plan, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    return functions_.desc_set(plan.desc, attribute, &value, sizeof(value)) ==
           CUBLAS_STATUS_SUCCESS;
  }

  bool describe(const MatMul& args, const Shape& shape, Plan& plan) {
    const bool is_whole = shape.type == ElementType::kInt8;
    const cudaDataType_t input = input_type(shape.type);
    const cudaDataType_t sum = is_whole ? CUDA_R_32I : CUDA_R_32F;
    const auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
    const auto layout = [&](cublasLtMatrixLayout_t& to, cudaDataType_t type, int64_t rows,
                            int64_t cols, int64_t stride) {
      return functions_.layout_create(&to, type, size(rows), size(cols), stride) ==
             CUBLAS_STATUS_SUCCESS;
    };
    if (functions_.desc_create(&plan.desc, is_whole ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                               sum) != CUBLAS_STATUS_SUCCESS ||
        !set(plan, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T) ||
        !layout(plan.a, input, shape.cols, shape.rows, shape.weight_stride) ||
        !layout(plan.b, input, shape.cols, shape.tokens, shape.x_stride) ||
        !layout(plan.d, sum, shape.rows, shape.tokens, shape.y_stride)) {
      return false;
    }
    if (shape.has_bias) {
      if (!set(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS) ||
          !set(plan, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_32F) ||
          !set(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, args.bias)) {  // for its alignment
        return false;
      }
    }
    if (shape.scales == ProductScales::kNone) return true;
    const bool is_outer = shape.scales == ProductScales::kOuter;
    const int32_t weight_mode = is_outer ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
                                         : CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    const int32_t x_mode = is_outer ? CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F
                                    : CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    return set(plan, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, weight_mode) &&
           set(plan, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, x_mode) &&
           set(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, args.weight_scales) &&
           set(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, args.x_scales);
  }

  bool choose(const Shape& shape, Plan& plan) {
    cublasLtMatmulPreference_t preference = nullptr;
    if (functions_.preference_create(&preference) != CUBLAS_STATUS_SUCCESS) return false;
    const size_t workspace = workspace_.size();
    functions_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                              sizeof(workspace));
    if (shape.is_batch_invariant) {
      // Columns cut into parts may be cut elsewhere in another part of the tile.
      const uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_NONE;
      functions_.preference_set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes,
                                sizeof(schemes));
    }
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = functions_.heuristic(handle_, plan.desc, plan.a, plan.b, plan.d,
                                                       plan.d, preference, 1, &found, &count);
    functions_.preference_destroy(preference);
    plan.algorithm = found.algo;
    return status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
  }

  void destroy(Plan& plan) {
    for (const cublasLtMatrixLayout_t layout : {plan.a, plan.b, plan.d}) {
      if (layout != nullptr) functions_.layout_destroy(layout);
    }
    if (plan.desc != nullptr) functions_.desc_destroy(plan.desc);
  }

  Functions functions_;
  cublasLtHandle_t handle_;
  Memory workspace_;
  std::map<Shape, Plan> plans_;
};

}  // namespace

std::unique_ptr<MatMulLibrary> MatMulLibrary::open() {
  constexpr std::array kNames{"libcublasLt.so.13", "/usr/local/cuda/lib64/libcublasLt.so.13"};
  void* library = nullptr;
  for (const char* name : kNames) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  Functions functions;
  if (library == nullptr || !load_all(library, functions)) {
    log_warning(
        "cuBLASLt (libcublasLt.so.13) was not found: long prompts and large batches are slower; "
        "install the CUDA 13 runtime libraries, or name their folder in LD_LIBRARY_PATH");
    return nullptr;
  }
  cublasLtHandle_t handle = nullptr;
  if (functions.create(&handle) != CUBLAS_STATUS_SUCCESS) return nullptr;
  Result<Memory> workspace = Memory::allocate(kWorkspaceBytes);
  if (!workspace.is_ok()) {
    functions.destroy(handle);
    return nullptr;
  }
  return std::make_unique<CublasLt>(functions, handle, *std::move(workspace));
}

}  // namespace ingot::cuda
