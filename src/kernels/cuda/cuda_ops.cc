// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_ops.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/cuda_parts.h"
#include "kernels/cuda/decode.h"
#include "kernels/cuda/small_ops.h"

namespace ingot::cuda {
namespace {

constexpr size_t kMostRecordings = 512;
const float* floats_of(const Memory& memory) {
  return reinterpret_cast<const float*>(memory.data());
}

}  // namespace

Result<std::unique_ptr<CudaOps>> CudaOps::create(std::shared_ptr<CudaDevice> device) {
  std::unique_ptr<CudaOps> ops(new CudaOps(std::move(device)));
  INGOT_TRY(to_status(cudaEventCreateWithFlags(&ops->step_sent_, cudaEventDisableTiming),
                      "an event of the GPU"));
  return ops;
}

CudaOps::CudaOps(std::shared_ptr<CudaDevice> device)
    : device_(std::move(device)), stream_(device_->stream()) {}

CudaOps::~CudaOps() {
  cudaStreamSynchronize(stream_);
  drop_recordings();
  if (step_sent_ != nullptr) cudaEventDestroy(step_sent_);
}

void CudaOps::set_batch_invariant(bool is_batch_invariant) {
  drop_recordings();
  is_batch_invariant_ = is_batch_invariant;
  wide_.set_batch_invariant(is_batch_invariant);
  for (Inputs& inputs : inputs_)
    inputs.set_batch_invariant(is_batch_invariant);
}

void CudaOps::keep(const Status& status) {
  if (status.is_ok()) return;
  cudaGetLastError();  // it is told here, and not once more by a later step that did nothing wrong
  if (status_.is_ok()) status_ = status;
}

void CudaOps::begin(const OpsStep& step) {
  device_->use_on_this_thread();
  status_ = Status::ok();
  sum_ = {};
  producer_ = {};
  rotations_.clear();
  views_used_ = 0;
  has_sampled_ = false;
  StepWriter writer(step);
  const size_t bytes = std::max<size_t>(writer.size(), 1);
  // The step before may still be on its way.
  keep(to_status(cudaEventSynchronize(step_sent_), "a step of the GPU"));
  keep(step_host_.reserve(bytes));
  keep(grow(step_memory_, bytes));
  if (!status_.is_ok()) return;
  writer.write(step_host_.data(), step_memory_.data(), step_);
  keep(to_status(cudaMemcpyAsync(step_memory_.data(), step_host_.data(), bytes,
                                 cudaMemcpyHostToDevice, stream_),
                 "a step of the GPU"));
  keep(sampler_.begin(step.sampling, stream_));
  keep(to_status(cudaEventRecord(step_sent_, stream_), "a step of the GPU"));
  is_decode_ = !step.has_prompts && !step_.groups.empty();
  key_ = {step_.count, 0, step.cache};
  for (const DeviceSequences& group : step_.groups)
    key_.longest = std::max<int64_t>(key_.longest, group.longest);
}

Status CudaOps::grow(Memory& memory, size_t bytes) {
  if (bytes <= memory.size()) return Status::ok();
  ++moves_;
  return memory.reserve(bytes);
}

Status CudaOps::grow_zeros(Memory& memory, size_t bytes) {
  if (bytes <= memory.size()) return Status::ok();
  INGOT_TRY(grow(memory, bytes));
  return to_status(cudaMemsetAsync(memory.data(), 0, memory.size(), stream_), "memory of the GPU");
}

void CudaOps::drop_recordings() {
  for (auto& [key, recording] : recordings_) {
    if (recording.graph != nullptr) cudaGraphExecDestroy(recording.graph);
  }
  recordings_.clear();
}

// The first pass of a shape runs as it is, so that all memory is there; the second is recorded.
bool CudaOps::replay() {
  if (!is_decode_ || !status_.is_ok()) return false;
  if (recordings_.size() >= kMostRecordings) drop_recordings();
  const auto [it, is_new] = recordings_.try_emplace(key_);
  if (is_new) return false;
  Recording& recording = it->second;
  if (recording.graph != nullptr && recording.moves != moves()) {
    cudaGraphExecDestroy(recording.graph);
    recording = {};
    return false;
  }
  if (recording.graph != nullptr) {
    keep(to_status(cudaGraphLaunch(recording.graph, stream_), "a recorded step of the GPU"));
    return true;
  }
  const cudaError_t error = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
  keep(to_status(error, "recording a step of the GPU"));
  is_recording_ = error == cudaSuccess;
  return false;
}

void CudaOps::end_pass() {
  if (status_.is_ok()) flush();
  if (!status_.is_ok()) {  // not all memory is there: what is next of this shape is a first pass
    const auto it = recordings_.find(key_);
    if (it != recordings_.end() && it->second.graph == nullptr) recordings_.erase(it);
  }
  if (!is_recording_) return;
  is_recording_ = false;
  cudaGraph_t graph = nullptr;
  keep(to_status(cudaStreamEndCapture(stream_, &graph), "recording a step of the GPU"));
  if (graph == nullptr || !status_.is_ok()) return;
  Recording& recording = recordings_[key_];
  keep(to_status(cudaGraphInstantiate(&recording.graph, graph, 0), "recording a step of the GPU"));
  cudaGraphDestroy(graph);
  if (!status_.is_ok()) return;
  recording.moves = moves();
  keep(to_status(cudaGraphLaunch(recording.graph, stream_), "a recorded step of the GPU"));
}

Status CudaOps::finish() {
  if (status_.is_ok()) flush();
  keep(to_status(cudaGetLastError(), "a step of the GPU"));
  if (!status_.is_ok() && std::exchange(has_sampled_, false)) sampler_.drop_last();
  return status_;
}

float* CudaOps::buffer(Buffer which, int64_t floats) {
  Memory& memory = buffers_[static_cast<size_t>(which)];
  keep(grow(memory, static_cast<size_t>(floats) * sizeof(float)));
  return reinterpret_cast<float*>(memory.data());
}

void CudaOps::write(float* to, std::span<const float> from) {
  if (!status_.is_ok()) return;
  flush();
  keep(device_->write(reinterpret_cast<std::byte*>(to), std::as_bytes(from)));
}

Status CudaOps::read(const float* from, std::span<float> to) {
  for (Inputs& inputs : inputs_)
    inputs.flush(stream_);
  INGOT_TRY(finish());
  return device_->read(reinterpret_cast<const std::byte*>(from), std::as_writable_bytes(to));
}

Result<std::span<const float>> CudaOps::view(const float* from, size_t count) {
  if (views_used_ == views_.size()) views_.emplace_back();
  PinnedMemory& memory = views_[views_used_++];
  INGOT_TRY(memory.reserve(count * sizeof(float)));
  const std::span<float> to(reinterpret_cast<float*>(memory.data()), count);
  INGOT_TRY(read(from, to));
  return std::span<const float>(to);
}

const float* CudaOps::constant(std::span<const float> values) {
  if (values.empty()) return nullptr;
  Memory& memory = constants_[values.data()];
  if (memory.size() < values.size_bytes()) {
    keep(memory.reserve(values.size_bytes()));
    if (status_.is_ok()) keep(device_->write(memory.data(), std::as_bytes(values)));
  }
  return floats_of(memory);
}

void CudaOps::embed(const EmbeddingTable& table, float factor, float* out, int64_t dim) {
  if (!status_.is_ok()) return;
  const Weight& weight = weight_of(*table.placed);
  INGOT_CHECK(weight.facts.cols == dim);
  const NamedRows rows{step_.tokens, sampler_.tokens(), step_.count};
  if (weight.facts.is_panels) {
    gather_panel_rows(weight.facts.packing, weight.data.data(), dim, weight.facts.scale, rows,
                      factor, out, stream_);
  } else {
    gather_element_rows(weight.facts.type, weight.data.data(), weight.facts.stride, dim, rows,
                        factor, out, stream_);
  }
}

void CudaOps::add_positions(std::span<const float> table, float* x, int64_t dim) {
  const float* own = constant(table);
  if (!status_.is_ok()) return;
  flush();
  add_rows(x, own, step_.position_rows, step_.count, dim, stream_);
}

void CudaOps::normalize_rows(const NormOp& norm, const float* x, float* y, int64_t rows,
                             int64_t dim, float* residual, const float* branch, float factor) {
  const float* weight = constant(norm.weight);
  const float* bias = constant(norm.bias);
  if (!status_.is_ok()) return;
  producer_.kind = Producer::Kind::kNorm;
  producer_.norm = {.is_layer_norm = norm.kind == NormKind::kLayer,
                    .x = x,
                    .y = y,
                    .rows = rows,
                    .dim = dim,
                    .eps = norm.eps,
                    .weight = weight,
                    .weight_rows = norm.weight.empty() ? 1 : std::ssize(norm.weight) / dim,
                    .bias = bias,
                    .residual = residual,
                    .branch = branch,
                    .factor = factor};
}

void CudaOps::flush() {
  if (sum_.y != nullptr) cuda::add_scaled(sum_.y, sum_.x, sum_.factor, sum_.count, stream_);
  sum_.y = nullptr;
  producer_.run(stream_);
  run_rotations();
}

void CudaOps::normalize(const NormOp& norm, const float* x, float* y, int64_t rows, int64_t dim) {
  // A sum that waits is taken in; it has the same rows.
  if (sum_.y == x && sum_.y != y && sum_.count == rows * dim) {
    const Sum sum = std::exchange(sum_, {});
    normalize_rows(norm, x, y, rows, dim, sum.y, sum.x, sum.factor);
    return;
  }
  flush();
  normalize_rows(norm, x, y, rows, dim, nullptr, nullptr, 0);
}

void CudaOps::add_and_normalize(float* x, const float* branch, float factor, const NormOp& norm,
                                float* y, int64_t rows, int64_t dim) {
  flush();
  normalize_rows(norm, x, y, rows, dim, x, branch, factor);
}

void CudaOps::set_input(InputSlot slot, const float* x, int64_t rows, int64_t cols) {
  Inputs& inputs = inputs_[static_cast<size_t>(slot)];
  if (producer_.is_pending() && producer_.out() == x && sum_.y == nullptr) {
    inputs.set(x, rows, cols, std::exchange(producer_, {}));
    return;
  }
  flush();
  inputs.set(x, rows, cols);
}

void CudaOps::clamp(float* x, float limit, int64_t count) {
  if (!status_.is_ok()) return;
  flush();
  cuda::clamp(x, limit, count, stream_);
}

// Queries, then keys: attend() takes both in where they are its own.
void CudaOps::rotate(const RotateOp& op) {
  if (!status_.is_ok()) return;
  const bool goes_along = rotations_.size() == 1 && rotations_[0].rope == op.rope &&
                          rotations_[0].head_dim == op.head_dim && rotations_[0].x != op.x;
  if (!goes_along) flush();
  rotations_.push_back(op);
}

void CudaOps::run_rotations() {
  if (rotations_.empty()) return;
  const RopeAngles& angles = step_.ropes[rotations_[0].rope];
  RotateRows rows{.in_halves = angles.pairing == RopePairing::kHalves,
                  .x = {},
                  .heads = {},
                  .head_dim = static_cast<int32_t>(rotations_[0].head_dim),
                  .pairs = static_cast<int32_t>(angles.pairs),
                  .cos = angles.cos,
                  .sin = angles.sin,
                  .tokens = step_.count};
  for (size_t i = 0; i < rotations_.size(); ++i) {
    rows.x[i] = rotations_[i].x;
    rows.heads[i] = static_cast<int32_t>(rotations_[i].heads);
  }
  cuda::rotate(rows, stream_);
  rotations_.clear();
}

// The rotation of these queries and keys, where just that is waiting.
RopeRows CudaOps::take_rotation(const AttendOp& op) {
  const bool is_its_own =
      rotations_.size() == 2 && rotations_[0].x == op.q && rotations_[1].x == op.k;
  if (!is_its_own) return {};
  const RopeAngles& angles = step_.ropes[rotations_[0].rope];
  rotations_.clear();
  return {angles.cos, angles.sin, static_cast<int32_t>(angles.pairs),
          angles.pairing == RopePairing::kHalves};
}

void CudaOps::attend(const AttendOp& op) {
  const float* slopes = constant(op.alibi_slopes);
  const float* sinks = constant(op.sinks);
  const DeviceSequences& sequences = step_.groups[op.group];
  const PagedKvShape& shape = op.kv.shape;
  const auto heads = static_cast<int32_t>(op.heads);
  const auto kv_heads = static_cast<int32_t>(shape.kv_heads);
  const auto value_dim = static_cast<int32_t>(shape.value_dim);
  const RopeRows rope = take_rotation(op);
  flush();
  keep(grow(attention_scratch_, static_cast<size_t>(attention_scratch_bytes(
                                    sequences.rows, heads, value_dim, sequences.longest))));
  if (!status_.is_ok()) return;
  AttentionStep left{};
  cuda::attend(
      {.kv = {.type = static_cast<KvType>(shape.type),
              .kv_heads = kv_heads,
              .key_dim = static_cast<int32_t>(shape.key_dim),
              .value_dim = value_dim,
              .page_tokens = static_cast<int32_t>(shape.page_tokens),
              .data = op.kv.data,
              .page_stride = op.kv.page_stride},
       .q = op.q,
       .q_stride = op.heads * shape.key_dim,
       .out = op.out,
       .out_stride = op.heads * shape.value_dim,
       .heads = heads,
       .scale = op.scale,
       .softcap = op.softcap,
       .window = static_cast<int32_t>(op.window),
       .alibi_slopes = slopes,
       .sinks = sinks,
       .sequences = sequences,
       .fresh = {op.k, shape.kv_heads * shape.key_dim, op.v, shape.kv_heads * shape.value_dim},
       .rope = rope,
       .scratch = attention_scratch_.data(),
       .is_batch_invariant = is_batch_invariant_},
      stream_, &left);
  if (left.splits.values == nullptr) return;
  producer_.kind = Producer::Kind::kJoin;
  producer_.join = left;
}

void CudaOps::activate(Activation activation, const float* gate, const float* up, float* out,
                       int64_t count) {
  if (!status_.is_ok()) return;
  flush();
  producer_.kind = Producer::Kind::kActivation;
  producer_.activation = {static_cast<int>(activation), gate, up, out};
  producer_.count = count;
}

void CudaOps::add_scaled(float* y, const float* x, float factor, int64_t count) {
  if (!status_.is_ok()) return;
  flush();
  sum_ = {y, x, factor, count};
}

void CudaOps::copy_rows(RowList rows, const float* x, int64_t dim, float* out) {
  if (!status_.is_ok()) return;
  flush();
  const auto list = static_cast<size_t>(rows);
  cuda::copy_rows(x, step_.rows[list], step_.row_counts[list], dim, out, stream_);
}

void CudaOps::finish_logits(float* y, float scale, float cap, int64_t count) {
  if (!status_.is_ok()) return;
  flush();
  cuda::finish_logits(y, scale, cap, count, stream_);
}

void CudaOps::start_sampling(float* logits, int64_t vocab) {
  if (!status_.is_ok()) return;
  flush();
  has_sampled_ = true;
  keep(sampler_.start(logits, vocab, stream_));
}

// A step that failed has told so in finish().
Result<std::span<const RowSample>> CudaOps::samples() {
  return sampler_.finish();
}

}  // namespace ingot::cuda
