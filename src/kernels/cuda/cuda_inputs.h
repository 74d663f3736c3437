// SPDX-License-Identifier: Apache-2.0
// The inputs of linear layers on the device, in the forms that weights ask for: each is made once
// and shared by all weights of the same input (q, k and v; gate and up).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "kernels/cuda/cuda_memory.h"
#include "kernels/cuda/cuda_weight.h"
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/inputs.h"
#include "kernels/cuda/small_ops.h"

namespace ingot::cuda {

enum class InputForm : uint8_t {
  kBytes32,
  kBytes256,
  kF32,
  kF16,
  kF16Eights,  // in an order of slot_order.h
  kF16Fours,
  kBF16,
  kE4m3,        // codes as f16 numbers
  kE4m3Rows,    // codes as they are, one scale a token
  kE4m3Blocks,  // and one for 128 columns
  kInt8,
};

// What our own kernels read.
InputForm form_of(const WeightFacts& weight);
// What linear_decoded() reads, or linear_warpgroups().
InputForm decoded_form_of(const WeightFacts& weight);
// What the library reads where weights are not codes to it: floats of 16 bits.
InputForm wide_form_of(const WeightFacts& weight);

struct PreparedInput {
  ByteInput bytes;                // of the forms in bytes
  FloatInput floats;              // of the others
  const float* shifts = nullptr;  // [tokens]: scale * zero of int8 inputs
};

// The op whose result an input is, where it has not run yet: it is done together with the packing.
struct Producer {
  enum class Kind : uint8_t { kNone, kNorm, kActivation, kJoin };
  Kind kind = Kind::kNone;
  NormRows norm{};
  ActivationRows activation{};
  int64_t count = 0;  // numbers of an activation
  AttentionStep join{};

  bool is_pending() const { return kind != Kind::kNone; }
  const float* out() const {
    if (kind == Kind::kJoin) return join.args.out;
    return kind == Kind::kNorm ? norm.y : activation.out;
  }
  // By itself.
  void run(Stream stream);
  // Whether it could be run once more after it was packed without being stored: its own operands
  // are still there.
  bool can_wait() const;
};

// Engine thread only.
class Inputs {
 public:
  void set(const float* x, int64_t tokens, int64_t cols, const Producer& producer = {});
  // Sets them too. Where the rows of x go in 16 bits, made by the kernel that makes x; a set() of
  // the same x that follows finds them there. No place: this weight wants them otherwise.
  Result<Gating> let_fill(const float* x, int64_t tokens, int64_t cols, InputForm form,
                          const Weight& weight);
  // Makes x itself, where it is still to be made, or was only packed.
  void flush(Stream stream);
  // What x was made of is about to change: x, if it was only packed, is gone.
  void forget_maker() { maker_ = {}; }
  Result<PreparedInput> get(InputForm form, const Weight& weight, Stream stream);
  // See MatMul; holds from the next set() on.
  void set_batch_invariant(bool is_batch_invariant) { is_batch_invariant_ = is_batch_invariant; }
  int64_t tokens() const { return tokens_; }
  int64_t cols() const { return cols_; }
  // How often memory of it was moved: what was recorded with its addresses holds no more.
  int64_t moves() const { return moves_; }

 private:
  struct Entry {
    bool is_used = false;
    InputForm form{};
    const Memory* order = nullptr;
    InputQuant quant;
    PreparedInput prepared;
    Memory codes, scales, sums, shifts;
  };
  Entry& entry(InputForm form, const Memory* order, const InputQuant& quant);
  Status grow(Memory& memory, size_t bytes);
  Status make(Entry& entry, Stream stream);
  bool fuses(const Entry& entry) const;
  void pack(const PackedRows& out, const InputRows& in, Stream stream);
  void round(const PackedRows& out, const Entry& entry, const InputRows& in, Stream stream);
  Status make_bytes(Entry& entry, const InputRows& in, Stream stream);
  Status make_floats(Entry& entry, const InputRows& in, Stream stream);
  // Room for them; says where it is.
  Status lay_floats(Entry& entry);
  Status make_codes(Entry& entry, const InputRows& in, Stream stream);
  TokenTiles tiles_for(InputForm form) const;
  // Of all tiles.
  size_t places(const TokenTiles& tiles) const;

  const float* x_ = nullptr;
  int64_t tokens_ = 0;
  int64_t cols_ = 0;
  Producer producer_;
  Producer maker_;          // makes x, which was packed without being stored
  bool is_filled_ = false;  // what follows is the set() that let_fill() speaks of
  bool is_batch_invariant_ = false;
  int64_t moves_ = 0;
  std::vector<std::unique_ptr<Entry>> entries_;
};

}  // namespace ingot::cuda
