// SPDX-License-Identifier: Apache-2.0
// IQ3_XXS and IQ3_S: rows of four magnitudes from tables of 256 and 512, signs beside.
#include "blocks/iq3_s.h"
#include "blocks/iq3_xxs.h"
#include "blocks/iq_grids.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/sign_planes.h"
#include "quant/encode/table_groups.h"
#include "quant/encode/table_search.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

constexpr size_t kSize = 32;
constexpr size_t kWidth = 8;
constexpr size_t kRowsOfGroup = 8;

template <size_t kEntries>
struct RowsOfFour {
  static constexpr size_t kRows = kRowsOfGroup;
  static constexpr size_t kSize = 32;
  static constexpr size_t kWidth = 8;
  const TableSearch<4, 8, kEntries>& table;
  float unit;
  float highest_code = 15.0F;

  inline void find(const GroupBatch<kSize>& batch, Lanes inverse, TableFit<kRows>& fit) const {
    fit.sum_xl = Lanes{};
    fit.sum_ll = Lanes{};
    fit.flags = LaneInts{};
    for (size_t r = 0; r < kRows; ++r) {
      const Lanes* x = batch.x + 4 * r;
      const Lanes* w = batch.w + 4 * r;
      Lanes t[4];
      for (size_t i = 0; i < 4; ++i)
        t[i] = x[i] * inverse;
      table.find(t, w, 0.0F, fit.row[r]);
      add_row(table, fit.row[r], Lanes{}, x, w, fit.sum_xl, fit.sum_ll);
    }
  }
};

constexpr int8_t kXxsLevels[] = {4, 12, 20, 28, 36, 44, 52, 62};
constexpr int8_t kSLevels[] = {1, 3, 5, 7, 9, 11, 13, 15};
constexpr float kXxsTargets[] = {62.0F, 54.0F, 58.0F, 66.0F, 71.0F, 77.0F};
constexpr float kSTargets[] = {15.0F, 13.2F, 14.1F, 16.0F, 17.2F, 18.6F};

const TableSearch<4, 8, 256>& xxs_table() {
  static const TableSearch<4, 8, 256> table(kIq3XxsGrid.rows, kXxsLevels);
  return table;
}
const TableSearch<4, 8, 512>& s_table() {
  static const TableSearch<4, 8, 512> table(kIq3SGrid.rows, kSLevels);
  return table;
}

struct Chosen {
  Lanes code;
  unsigned index[kRowsOfGroup][kLanes];
  LaneInts signs[kSize / 8];

  unsigned group_code(size_t g) const { return static_cast<unsigned>(code[g]); }
  unsigned row(size_t r, size_t g) const { return index[r][g]; }
  unsigned sign_bits(size_t r, size_t g) const { return static_cast<unsigned>(signs[r][g]); }
};

void pack(const Chosen& chosen, size_t first, IQ3_XXS& block) {
  for (size_t g = 0; g < kWidth; ++g) {
    for (size_t r = 0; r < kRowsOfGroup; ++r)
      block.codes[kRowsOfGroup * g + r] = static_cast<uint8_t>(chosen.row(r, first + g));
    uint32_t word = chosen.group_code(first + g) << 28;
    for (size_t r = 0; r < 4; ++r)
      word |= (chosen.sign_bits(r, first + g) & 0x7F) << (7 * r);
    std::memcpy(block.groups[g], &word, sizeof(word));
  }
}

void pack(const Chosen& chosen, size_t first, IQ3_S& block) {
  for (size_t g = 0; g < kWidth; ++g) {
    unsigned high = 0;
    for (size_t r = 0; r < kRowsOfGroup; ++r) {
      const unsigned index = chosen.row(r, first + g);
      block.codes[kRowsOfGroup * g + r] = static_cast<uint8_t>(index & 0xFF);
      high |= (index >> 8) << r;
    }
    block.high_bits[g] = static_cast<uint8_t>(high);
    for (size_t r = 0; r < 4; ++r)
      block.signs[4 * g + r] = static_cast<uint8_t>(chosen.sign_bits(r, first + g));
  }
  for (size_t k = 0; k < kWidth / 2; ++k) {
    block.group_scales[k] = static_cast<uint8_t>(chosen.group_code(first + 2 * k) |
                                                 (chosen.group_code(first + 2 * k + 1) << 4));
  }
}

template <class Block, class Groups, size_t kTargets>
void encode(const EncodeJob& job, const Groups& groups, bool has_even_signs,
            const float (&targets)[kTargets]) {
  for_each_batch<kSize>(
      job, [&](const GroupBatch<kSize>& signed_batch, size_t first, size_t count) {
        GroupBatch<kSize> batch = signed_batch;
        Chosen chosen;
        split_signs(batch, has_even_signs, chosen.signs);
        const TableChoice<Groups> best = choose_rows(groups, batch, targets, 2);
        chosen.code = best.code;
        for (size_t r = 0; r < kRowsOfGroup; ++r)
          for (size_t g = 0; g < kLanes; ++g)
            chosen.index[r][g] = groups.table.index(best.rows.row[r][g]);
        uint16_t bits[kLanes];
        store_half_bits(best.block_scale, bits);
        for (size_t g = 0; g < count; g += kWidth) {
          Block block;
          block.scale = Half{bits[g]};
          pack(chosen, g, block);
          std::memcpy(job.out + (first + g) / kWidth * sizeof(Block), &block, sizeof(block));
        }
      });
}

}  // namespace

void encode_iq3_xxs(const EncodeJob& job) {
  encode<IQ3_XXS>(job, RowsOfFour<256>{xxs_table(), 0.25F}, true, kXxsTargets);
}

void encode_iq3_s(const EncodeJob& job) {
  encode<IQ3_S>(job, RowsOfFour<512>{s_table(), 1.0F}, false, kSTargets);
}

}  // namespace ingot::quant::INGOT_TARGET
