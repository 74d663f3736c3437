// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/matmul_library.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <array>
#include <map>
#include <tuple>

#include "base/log.h"

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

Status to_status(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status::ok();
  return Status::internal("a matrix product on the GPU failed (cuBLASLt {})",
                          static_cast<int>(status));
}

class CublasLt final : public MatMulLibrary {
 public:
  CublasLt(const Functions& functions, cublasLtHandle_t handle, Memory workspace)
      : functions_(functions), handle_(handle), workspace_(std::move(workspace)) {}
  ~CublasLt() override {
    for (auto& [shape, plan] : plans_) {
      functions_.layout_destroy(plan.a);
      functions_.layout_destroy(plan.b);
      functions_.layout_destroy(plan.d);
      functions_.desc_destroy(plan.desc);
    }
    functions_.destroy(handle_);
  }

  // Columns first, as the library thinks: y^T [rows, tokens] = W [rows, cols] x^T [cols, tokens].
  Status run(const MatMul& args, Stream stream) override {
    INGOT_TRY(const Plan* plan, plan_for(args));
    const float one = 1;
    const float zero = 0;
    return to_status(functions_.matmul(
        handle_, plan->desc, &one, args.weights, plan->a, args.x, plan->b, &zero, args.y, plan->d,
        args.y, plan->d, &plan->algorithm, workspace_.data(), workspace_.size(), stream));
  }

 private:
  struct Plan {
    cublasLtMatmulDesc_t desc = nullptr;
    cublasLtMatrixLayout_t a = nullptr;
    cublasLtMatrixLayout_t b = nullptr;
    cublasLtMatrixLayout_t d = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
  };
  using Shape = std::tuple<ElementType, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;

  Result<const Plan*> plan_for(const MatMul& args) {
    const Shape shape{args.type,          args.rows,     args.cols,    args.tokens,
                      args.weight_stride, args.x_stride, args.y_stride};
    if (const auto it = plans_.find(shape); it != plans_.end()) return &it->second;
    const cudaDataType_t type = args.type == ElementType::kF16 ? CUDA_R_16F : CUDA_R_16BF;
    const auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
    Plan plan;
    INGOT_TRY(to_status(functions_.desc_create(&plan.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F)));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    INGOT_TRY(to_status(functions_.desc_set(plan.desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                            sizeof(transposed))));
    INGOT_TRY(to_status(functions_.layout_create(&plan.a, type, size(args.cols), size(args.rows),
                                                 args.weight_stride)));
    INGOT_TRY(to_status(functions_.layout_create(&plan.b, type, size(args.cols), size(args.tokens),
                                                 args.x_stride)));
    INGOT_TRY(to_status(functions_.layout_create(&plan.d, CUDA_R_32F, size(args.rows),
                                                 size(args.tokens), args.y_stride)));
    cublasLtMatmulPreference_t preference = nullptr;
    INGOT_TRY(to_status(functions_.preference_create(&preference)));
    const size_t workspace = workspace_.size();
    functions_.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                              sizeof(workspace));
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = functions_.heuristic(handle_, plan.desc, plan.a, plan.b, plan.d,
                                                       plan.d, preference, 1, &found, &count);
    functions_.preference_destroy(preference);
    INGOT_TRY(to_status(status));
    if (count == 0) {
      return Status::internal("cuBLASLt has no algorithm for a product of [{}, {}] by {} tokens",
                              args.rows, args.cols, args.tokens);
    }
    plan.algorithm = found.algo;
    return &plans_.emplace(shape, plan).first->second;
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
