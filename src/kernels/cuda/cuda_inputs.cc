// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/cuda_inputs.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/cuda/hopper.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kByteColumns = 256;   // rows of bytes are padded to
constexpr int64_t kFloatColumns = 128;  // and rows of floats, and of codes for the library
constexpr int64_t kTile = 128;          // tokens of a product that no batch changes
constexpr int64_t kLastTile = 16;       // products with scales of blocks take tokens by sixteens
// Up to so many tokens it costs less to copy outputs than to read a weight again for a last tile.
constexpr int64_t kOneTile = 512;

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Whether the tensor cores' kernel takes a row's columns whole.
bool fills_pieces(const WeightFacts& weight) {
  return weight.cols % (weight.type == ElementType::kE4M3 ? 64 : 32) == 0;
}

bool holds_e4m3(const InputQuant& quant) {
  return quant.kind == InputKind::kE4m3 && (quant.block == 0 || quant.block % 128 == 0);
}

bool is_codes(InputForm form) {
  return form == InputForm::kE4m3Rows || form == InputForm::kE4m3Blocks || form == InputForm::kInt8;
}

SlotOrder order_of(InputForm form) {
  if (form == InputForm::kF16Eights) return SlotOrder::kEights;
  return form == InputForm::kF16Fours ? SlotOrder::kFours : SlotOrder::kPlain;
}

}  // namespace

InputForm form_of(const WeightFacts& weight) {
  if (weight.is_panels) {
    return packing_info(weight.packing).activation == ActivationLayout::kQ8G256
               ? InputForm::kBytes256
               : InputForm::kBytes32;
  }
  if (weight.type == ElementType::kInt8) return InputForm::kInt8;
  if (!weight.rounds_inputs || weight.type == ElementType::kF32 || !fills_pieces(weight))
    return InputForm::kF32;
  if (weight.type == ElementType::kBF16) return InputForm::kBF16;
  const bool is_e4m3 = weight.type == ElementType::kE4M3 && holds_e4m3(weight.input);
  return is_e4m3 ? InputForm::kE4m3 : InputForm::kF16;
}

InputForm decoded_form_of(const WeightFacts& weight) {
  if (!is_hopper()) return InputForm::kF16;
  return slot_order(weight.packing) == SlotOrder::kFours ? InputForm::kF16Fours
                                                         : InputForm::kF16Eights;
}

InputForm wide_form_of(const WeightFacts& weight) {
  const bool is_half = !weight.is_panels && weight.type == ElementType::kF16;
  return is_half ? InputForm::kF16 : InputForm::kBF16;
}

void Producer::run(Stream stream) {
  constexpr int64_t kLongRow = 1024;  // from which on a whole block of threads for a row pays
  if (kind == Kind::kNorm) {
    if (can_fuse_norm(norm) && norm.dim >= kLongRow) {
      normalize_and_pack(norm, {}, stream);
    } else {
      normalize(norm, stream);
    }
  }
  if (kind == Kind::kActivation) {
    activate(activation.activation, activation.gate, activation.up, activation.out, count, stream);
  }
  if (kind == Kind::kJoin) launch_join(join, stream);
  kind = Kind::kNone;
}

void Inputs::set(const float* x, int64_t tokens, int64_t cols, const Producer& producer) {
  const bool is_same = x == x_ && tokens == tokens_ && cols == cols_ && !producer.is_pending();
  if (std::exchange(is_filled_, false) && is_same) return;
  producer_ = producer;
  maker_ = {};
  x_ = x;
  tokens_ = tokens;
  cols_ = cols;
  for (const auto& entry : entries_)
    entry->is_used = false;
}

Inputs::Entry& Inputs::entry(InputForm form, const Memory* order, const InputQuant& quant) {
  Entry* free = nullptr;
  for (const auto& entry : entries_) {
    const bool is_same = entry->form == form && entry->order == order && entry->quant == quant;
    if (entry->is_used && is_same) return *entry;
    if (!entry->is_used && (free == nullptr || is_same)) free = entry.get();
  }
  if (free == nullptr) free = entries_.emplace_back(std::make_unique<Entry>()).get();
  free->form = form;
  free->order = order;
  free->quant = quant;
  return *free;
}

// Only what is asked for by a second form, or by the host, is written in f32: of many tokens that
// would be a third of what an activation moves.
bool Producer::can_wait() const {
  if (kind == Kind::kNorm) return norm.x != norm.y;
  return kind == Kind::kActivation;
}

Result<PreparedInput> Inputs::get(InputForm form, const Weight& weight, Stream stream) {
  INGOT_CHECK(weight.facts.cols == cols_);
  Entry& found = entry(form, weight.order.get(), weight.facts.input);
  if (!found.is_used) {
    INGOT_TRY(make(found, stream));
    found.is_used = true;
  }
  return found.prepared;
}

void Inputs::flush(Stream stream) {
  producer_.run(stream);
  // By the kernel that packed it, so that every form is of the same numbers.
  if (maker_.kind == Producer::Kind::kNorm) {
    normalize_and_pack(maker_.norm, {}, stream);
    maker_ = {};
  }
  maker_.run(stream);
}

Status Inputs::grow(Memory& memory, size_t bytes) {
  if (bytes > memory.size()) ++moves_;
  return memory.reserve(bytes);
}

Status Inputs::make(Entry& entry, Stream stream) {
  InputRows in{.x = x_,
               .order = entry.order == nullptr
                            ? nullptr
                            : reinterpret_cast<const int32_t*>(entry.order->data()),
               .cols = cols_,
               .tokens = static_cast<int32_t>(tokens_)};
  if (!producer_.is_pending() || !fuses(entry)) flush(stream);
  const bool holds_codes =
      (entry.form == InputForm::kBytes32 && entry.quant.kind == InputKind::kInt8) ||
      (entry.form == InputForm::kE4m3 && holds_e4m3(entry.quant)) || is_codes(entry.form);
  // A form that cannot hold the codes is made of the rounded numbers.
  if (entry.quant.rounds() && !holds_codes) {
    INGOT_TRY(grow(entry.shifts, static_cast<size_t>(tokens_ * cols_) * sizeof(float)));
    auto* rounded = reinterpret_cast<float*>(entry.shifts.data());
    InputRows plain = in;
    plain.order = nullptr;
    round_floats(plain, entry.quant, rounded, stream);
    in.x = rounded;
  }
  if (is_codes(entry.form)) return make_codes(entry, in, stream);
  const bool is_bytes = entry.form == InputForm::kBytes32 || entry.form == InputForm::kBytes256;
  return is_bytes ? make_bytes(entry, in, stream) : make_floats(entry, in, stream);
}

// Whether an entry is packed by the kernels that also make what they pack.
bool Inputs::fuses(const Entry& entry) const {
  if (entry.form == InputForm::kF32 || entry.order != nullptr || !can_fuse(cols_)) return false;
  const bool has_codes = entry.form == InputForm::kE4m3 || is_codes(entry.form);
  if (has_codes ? !can_fuse_rounding(entry.quant) : entry.quant.rounds()) return false;
  if (producer_.kind == Producer::Kind::kJoin) return can_fuse_join(producer_.join, entry.quant);
  return producer_.kind != Producer::Kind::kNorm || can_fuse_norm(producer_.norm);
}

void Inputs::pack(const PackedRows& out, const InputRows& in, Stream stream) {
  if (producer_.can_wait()) {
    maker_ = producer_;
    maker_.norm.residual = nullptr;  // is added by then
    maker_.norm.branch = nullptr;
    producer_.norm.is_stored = false;
    producer_.activation.is_stored = false;
  }
  switch (producer_.kind) {
    case Producer::Kind::kNorm:
      normalize_and_pack(producer_.norm, out, stream);
      break;
    case Producer::Kind::kActivation:
      activate_and_pack(producer_.activation, tokens_, cols_, out, stream);
      break;
    case Producer::Kind::kJoin:
      join_and_pack(producer_.join, out, stream);
      break;
    case Producer::Kind::kNone:
      pack_rows(in.x, tokens_, cols_, out, stream);
      break;
  }
  producer_.kind = Producer::Kind::kNone;
}

void Inputs::round(const PackedRows& out, const Entry& entry, const InputRows& in, Stream stream) {
  if (fuses(entry)) {
    pack(out, in, stream);
  } else {
    pack_rounded(in, out, stream);
  }
}

Status Inputs::make_bytes(Entry& entry, const InputRows& in, Stream stream) {
  const bool in_blocks = entry.form == InputForm::kBytes256;
  const auto runs = static_cast<size_t>(round_up(cols_, kByteColumns) / 32);
  const size_t groups = in_blocks ? runs / 8 : runs;
  const bool is_alone = tokens_ == 1;
  const auto places = static_cast<size_t>(is_alone ? 1 : round_up(tokens_, kTileTokens));
  INGOT_TRY(grow(entry.codes, places * runs * 32));
  INGOT_TRY(grow(entry.scales, places * groups * sizeof(float)));
  const size_t sums16 = places * runs * 2 * sizeof(int16_t);
  INGOT_TRY(grow(entry.sums, sums16 + sums16 / 2));
  const ByteRows out{.codes = reinterpret_cast<int8_t*>(entry.codes.data()),
                     .scales = reinterpret_cast<float*>(entry.scales.data()),
                     .sums16 = reinterpret_cast<int16_t*>(entry.sums.data()),
                     .sums32 = reinterpret_cast<int16_t*>(entry.sums.data() + sums16),
                     .runs = static_cast<int32_t>(runs),
                     .groups = static_cast<int32_t>(groups),
                     .is_alone = is_alone};
  entry.prepared = {};
  if (!in_blocks && entry.quant.kind == InputKind::kInt8) {
    INGOT_TRY(grow(entry.shifts, static_cast<size_t>(tokens_) * sizeof(float)));
    auto* shifts = reinterpret_cast<float*>(entry.shifts.data());
    pack_int8(in, entry.quant, out, shifts, stream);
    if (entry.quant.has_zero()) entry.prepared.shifts = shifts;
  } else if (fuses(entry)) {
    const auto kind = in_blocks ? PackedRows::Kind::kBytes256 : PackedRows::Kind::kBytes32;
    pack({.kind = kind, .bytes = out}, in, stream);
  } else {
    pack_bytes(in, in_blocks, out, stream);
  }
  entry.prepared.bytes = {out.codes, out.scales, out.sums16, out.sums32,
                          out.runs,  out.groups, in.tokens};
  return Status::ok();
}

Status Inputs::lay_floats(Entry& entry) {
  const ElementType type = entry.form == InputForm::kF32    ? ElementType::kF32
                           : entry.form == InputForm::kBF16 ? ElementType::kBF16
                                                            : ElementType::kF16;
  const int64_t stride = round_up(cols_, kFloatColumns);
  const TokenTiles tiles = tiles_for(entry.form);
  const size_t bytes =
      places(tiles) * static_cast<size_t>(stride) * (type == ElementType::kF32 ? 4 : 2);
  INGOT_TRY(grow(entry.codes, bytes));
  entry.prepared = {};
  entry.prepared.floats = {
      type, entry.codes.data(), stride, nullptr, 0, static_cast<int32_t>(tokens_), tiles};
  return Status::ok();
}

Result<Gating> Inputs::let_fill(const float* x, int64_t tokens, int64_t cols, InputForm form,
                                const Weight& weight) {
  set(x, tokens, cols);
  Gating gating{.is_on = true};
  // Zeros behind the columns are left to the kernels that pack.
  if (cols % kFloatColumns != 0 || weight.order != nullptr || weight.facts.input.rounds())
    return gating;
  Entry& found = entry(form, nullptr, weight.facts.input);
  INGOT_TRY(lay_floats(found));
  found.is_used = true;
  is_filled_ = true;
  gating.is_bf16 = form == InputForm::kBF16;
  gating.order = order_of(form);
  gating.halves = reinterpret_cast<uint16_t*>(found.codes.data());
  gating.stride = found.prepared.floats.stride;
  return gating;
}

Status Inputs::make_floats(Entry& entry, const InputRows& in, Stream stream) {
  if (entry.form == InputForm::kF32 && in.order == nullptr) {  // as they are
    entry.prepared = {};
    entry.prepared.floats = {ElementType::kF32,    in.x, cols_, nullptr, 0, in.tokens,
                             tiles_for(entry.form)};
    return Status::ok();
  }
  INGOT_TRY(lay_floats(entry));
  FloatInput& floats = entry.prepared.floats;
  const ElementType type = floats.type;
  const int64_t stride = floats.stride;
  if (entry.form == InputForm::kE4m3) {
    floats.spans = entry.quant.block == 0 ? 0 : stride / 128;
    const int64_t scales_each = std::max<int64_t>(floats.spans, 1);
    INGOT_TRY(grow(entry.scales, static_cast<size_t>(tokens_ * scales_each) * sizeof(float)));
    auto* scales = reinterpret_cast<float*>(entry.scales.data());
    floats.scales = scales;
    round({.kind = PackedRows::Kind::kE4m3AsF16,
           .values = entry.codes.data(),
           .stride = stride,
           .scales = {entry.quant, scales, floats.spans, {}, in.tokens, nullptr}},
          entry, in, stream);
    return Status::ok();
  }
  const SlotOrder order = order_of(entry.form);
  if (fuses(entry)) {
    const auto kind = type == ElementType::kF16 ? PackedRows::Kind::kF16 : PackedRows::Kind::kBF16;
    pack({.kind = kind, .values = entry.codes.data(), .stride = stride, .order = order}, in,
         stream);
  } else {
    pack_floats(in, type, entry.codes.data(), stride, order, stream);
  }
  return Status::ok();
}

Status Inputs::make_codes(Entry& entry, const InputRows& in, Stream stream) {
  const bool is_int8 = entry.form == InputForm::kInt8;
  const int64_t stride = round_up(cols_, kFloatColumns);
  const int64_t spans = entry.form == InputForm::kE4m3Blocks ? stride / 128 : 0;
  const TokenTiles tiles = tiles_for(entry.form);
  const size_t rows = places(tiles);
  const auto scales_each = static_cast<size_t>(std::max<int64_t>(spans, 1));
  INGOT_TRY(grow(entry.codes, rows * static_cast<size_t>(stride)));
  INGOT_TRY(grow(entry.scales, rows * scales_each * sizeof(float)));
  auto* scales = reinterpret_cast<float*>(entry.scales.data());
  float* shifts = nullptr;
  entry.prepared = {};
  if (is_int8) {
    INGOT_TRY(grow(entry.shifts, static_cast<size_t>(tokens_) * sizeof(float)));
    shifts = reinterpret_cast<float*>(entry.shifts.data());
    if (entry.quant.has_zero()) entry.prepared.shifts = shifts;
  }
  round({.kind = is_int8 ? PackedRows::Kind::kInt8 : PackedRows::Kind::kE4m3,
         .values = entry.codes.data(),
         .stride = stride,
         .scales = {entry.quant, scales, spans, tiles, in.tokens, shifts}},
        entry, in, stream);
  entry.prepared.floats = {is_int8 ? ElementType::kInt8 : ElementType::kE4M3,
                           entry.codes.data(),
                           stride,
                           scales,
                           spans,
                           in.tokens,
                           tiles};
  return Status::ok();
}

TokenTiles Inputs::tiles_for(InputForm form) const {
  // Whole sums are the same in any order.
  if (is_batch_invariant_ && form != InputForm::kInt8) return {kTile, kTile};
  if (form == InputForm::kE4m3Blocks) {
    const auto filled = static_cast<int32_t>(round_up(tokens_, kLastTile));
    if (tokens_ <= kOneTile) return {std::max<int32_t>(filled, 1), filled};
    return {static_cast<int32_t>(tokens_ / kLastTile * kLastTile), kLastTile};
  }
  const auto tokens = static_cast<int32_t>(std::max<int64_t>(tokens_, 1));
  return {tokens, tokens};
}

size_t Inputs::places(const TokenTiles& tiles) const {
  const int64_t full = tokens_ / tiles.each * tiles.each;
  return static_cast<size_t>(full + (full == tokens_ ? 0 : tiles.last));
}

}  // namespace ingot::cuda
