// SPDX-License-Identifier: Apache-2.0
// What a forward pass is made of, on one device: the decoder is written once against this. Pointers
// are the device's own and mean nothing elsewhere. Weights and other constants are given as the
// host has them; a device keeps its copies. Nothing waits: results are there when read() returns.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/elementwise.h"
#include "kernels/linear.h"
#include "kernels/norm.h"
#include "kernels/paged_kv.h"
#include "kernels/rope.h"
#include "kernels/row_sampling.h"
#include "tensor/tensor_view.h"

namespace ingot {

// Buffers of a pass; each grows to the largest size asked for and stays.
enum class Buffer : uint8_t {
  kHidden,
  kNormed,
  kBranch,
  kSecondBranch,
  kQ,
  kK,
  kV,
  kAttended,
  kGate,
  kUp,
  kSelected,
  kProjected,
  kLogits,
  kWanted,
};
inline constexpr size_t kBuffers = static_cast<size_t>(Buffer::kWanted) + 1;

// Inputs of linears, whose packed forms are kept until the next set_input(): of a branch, and of
// what lies inside a branch while the branch's own are still wanted.
enum class InputSlot : uint8_t { kBranch, kInner };

struct RopeAngles {
  RopePairing pairing;
  const float* cos;  // [rows, pairs], the host's
  const float* sin;
  int64_t pairs;
};

// A step, as the host sees it. Everything outlives the step.
struct OpsStep {
  // Below 0, on a device that samples: -1 - k is the token of output row k of the step before.
  std::span<const int32_t> tokens;
  std::span<const std::vector<SequenceRows>> groups;  // sequences, with each cache group's pages
  int64_t page_tokens = kDefaultPageTokens;
  std::span<const RopeAngles> ropes;
  std::span<const int32_t> position_rows;  // of a learned table; empty: there is none
  std::span<const int64_t> output_rows;
  std::span<const int64_t> hidden_rows;
  // How the tokens behind the output rows are chosen, one each; empty: that is all left to the
  // host.
  std::span<const RowSampling> sampling;
  bool has_prompts = false;
  const void* cache = nullptr;  // which memory of keys and values it is
};
enum class RowList : uint8_t { kOutput, kHidden };

struct NormOp {
  NormKind kind;
  float eps;
  std::span<const float> weight;  // empty: no affine part
  std::span<const float> bias;
};

struct RotateOp {
  size_t rope;  // index into the step's
  float* x;     // [rows, heads, head_dim]
  int64_t heads;
  int64_t head_dim;
};

struct AttendOp {
  PagedKv kv;
  size_t group;
  float* q;  // holds anything afterwards
  const float* k;
  const float* v;
  float* out;
  int64_t heads;
  float scale;
  float softcap;
  int64_t window;
  std::span<const float> alibi_slopes;  // or empty
  std::span<const float> sinks;         // or empty
};

// A gated feed-forward layer up to its last product: y = act(W_gate x) * (W_up x).
struct GatedOp {
  const Linear* gate;
  const Linear* up;
  const Linear* next;  // what will read y
  Activation activation;
  float* between;  // [rows, hidden]: holds anything afterwards
  float* y;        // [rows, hidden]
  int64_t rows;
};

// A table of embeddings: a view of the file, or a weight on the device.
struct EmbeddingTable {
  const TensorView* view;
  const Linear* placed;
};

// Engine thread only.
class Ops {
 public:
  virtual ~Ops() = default;

  // From the next step on a row's bits do not depend on what else is in its steps, nor on how its
  // sequence was cut into them. The processor's never do.
  virtual void set_batch_invariant(bool /*is_batch_invariant*/) {}

  virtual void begin(const OpsStep& step) = 0;
  // Where a pass of this shape was recorded before, does it all over again, for the step just
  // begun, and says true: the same buffers hold its results. Else the ops follow one by one, up to
  // end_pass(), and may be recorded.
  virtual bool replay() { return false; }
  virtual void end_pass() {}
  // All that was asked for is done, or failed. Steps that failed leave nothing behind; a device
  // that cannot go on says kInternal.
  virtual Status finish() = 0;

  virtual float* buffer(Buffer which, int64_t floats) = 0;
  // Between the host and this device's buffers.
  virtual void write(float* to, std::span<const float> from) = 0;
  virtual Status read(const float* from, std::span<float> to) = 0;
  // A buffer as the host can read it until the next step; waits for it.
  virtual Result<std::span<const float>> view(const float* from, size_t count) = 0;

  virtual void embed(const EmbeddingTable& table, float factor, float* out, int64_t dim) = 0;
  // x [rows, dim] += table[position_rows]
  virtual void add_positions(std::span<const float> table, float* x, int64_t dim) = 0;
  virtual void normalize(const NormOp& norm, const float* x, float* y, int64_t rows,
                         int64_t dim) = 0;
  // x += factor * branch, then y = norm(x).
  virtual void add_and_normalize(float* x, const float* branch, float factor, const NormOp& norm,
                                 float* y, int64_t rows, int64_t dim) = 0;
  // What an op before it made, in a buffer of its own, is for these linears and the host from then
  // on: a device may write it in the form alone that they read.
  virtual void set_input(InputSlot slot, const float* x, int64_t rows, int64_t cols) = 0;
  virtual void run_linears(InputSlot slot, std::span<const LinearOutput> outputs) = 0;
  // run_linears() of gate and up, then activate(); a device may do it in one.
  virtual void run_gated(InputSlot slot, const GatedOp& op) {
    const int64_t hidden = op.gate->rows();
    const std::array outputs{LinearOutput{op.gate, op.between, hidden},
                             LinearOutput{op.up, op.y, hidden}};
    run_linears(slot, outputs);
    activate(op.activation, op.between, op.y, op.y, op.rows * hidden);
  }
  virtual void clamp(float* x, float limit, int64_t count) = 0;
  virtual void rotate(const RotateOp& op) = 0;
  // Stores the step's keys and values, then attends.
  virtual void attend(const AttendOp& op) = 0;
  // out = act(gate) * up; up may be null, out may be gate or up.
  virtual void activate(Activation activation, const float* gate, const float* up, float* out,
                        int64_t count) = 0;
  virtual void add_scaled(float* y, const float* x, float factor, int64_t count) = 0;
  virtual void copy_rows(RowList rows, const float* x, int64_t dim, float* out) = 0;
  // y *= scale, then y = cap * tanh(y / cap) where cap is not 0.
  virtual void finish_logits(float* y, float scale, float cap, int64_t count) = 0;
  // Samples the step's output rows as its `sampling` says, from logits [output rows, vocab], which
  // are there afterwards as before.
  virtual void start_sampling(float* /*logits*/, int64_t /*vocab*/) {}
  // After finish(): waits for those of the first step that has not been waited for; a second may
  // be under way. One sample a row, valid until the second step from here; none at all where a
  // device cannot.
  virtual Result<std::span<const RowSample>> samples() { return std::span<const RowSample>(); }
};

}  // namespace ingot
