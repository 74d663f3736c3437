// SPDX-License-Identifier: Apache-2.0
// IQ2_XXS, IQ2_XS and IQ2_S: rows of eight magnitudes from tables of 256, 512 and 1024, signs
// beside.
#include "blocks/iq2_s.h"
#include "blocks/iq2_xs.h"
#include "blocks/iq2_xxs.h"
#include "blocks/iq_grids.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/sign_planes.h"
#include "quant/encode/table_groups.h"
#include "quant/encode/table_search.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

constexpr int8_t kLevels[] = {8, 25, 43};
constexpr float kTargets[] = {43.0F, 35.0F, 39.0F, 47.0F, 52.0F, 58.0F};

template <size_t kEntries, size_t kRowsOfGroup>
struct RowsOfEight {
  static constexpr size_t kRows = kRowsOfGroup;
  static constexpr size_t kSize = 8 * kRows;
  static constexpr size_t kWidth = 256 / kSize;
  const TableSearch<8, 3, kEntries>& table;
  float unit = 0.125F;
  float highest_code = 15.0F;

  inline void find(const GroupBatch<kSize>& batch, Lanes inverse, TableFit<kRows>& fit) const {
    fit.sum_xl = Lanes{};
    fit.sum_ll = Lanes{};
    fit.flags = LaneInts{};
    for (size_t r = 0; r < kRows; ++r) {
      const Lanes* x = batch.x + 8 * r;
      const Lanes* w = batch.w + 8 * r;
      Lanes t[8];
      for (size_t i = 0; i < 8; ++i)
        t[i] = x[i] * inverse;
      table.find(t, w, 0.0F, fit.row[r]);
      add_row(table, fit.row[r], Lanes{}, x, w, fit.sum_xl, fit.sum_ll);
    }
  }
};

const TableSearch<8, 3, 256>& xxs_table() {
  static const TableSearch<8, 3, 256> table(kIq2XxsGrid.rows, kLevels);
  return table;
}
const TableSearch<8, 3, 512>& xs_table() {
  static const TableSearch<8, 3, 512> table(kIq2XsGrid.rows, kLevels);
  return table;
}
const TableSearch<8, 3, 1024>& s_table() {
  static const TableSearch<8, 3, 1024> table(kIq2SGrid.rows, kLevels);
  return table;
}

// What a block is packed from: lane g is a group.
template <size_t kRows>
struct Chosen {
  uint16_t scale[kLanes];
  Lanes code;
  unsigned index[kRows][kLanes];
  LaneInts signs[kRows];

  unsigned group_code(size_t g) const { return static_cast<unsigned>(code[g]); }
  unsigned row(size_t r, size_t g) const { return index[r][g]; }
  unsigned sign_bits(size_t r, size_t g) const { return static_cast<unsigned>(signs[r][g]); }
};

void pack(const Chosen<4>& chosen, size_t first, IQ2_XXS& block) {
  for (size_t g = 0; g < 8; ++g) {
    uint32_t word = chosen.group_code(first + g) << 28;
    for (size_t r = 0; r < 4; ++r) {
      block.groups[g][r] = static_cast<uint8_t>(chosen.row(r, first + g));
      word |= (chosen.sign_bits(r, first + g) & 0x7F) << (7 * r);
    }
    std::memcpy(block.groups[g] + 4, &word, sizeof(word));
  }
}

template <class Block>
void pack_group_codes(const Chosen<2>& chosen, Block& block) {
  for (size_t k = 0; k < 8; ++k) {
    block.group_scales[k] =
        static_cast<uint8_t>(chosen.group_code(2 * k) | (chosen.group_code(2 * k + 1) << 4));
  }
}

void pack(const Chosen<2>& chosen, size_t, IQ2_XS& block) {
  pack_group_codes(chosen, block);
  for (size_t r = 0; r < 32; ++r) {
    const unsigned signs = chosen.sign_bits(r % 2, r / 2) & 0x7F;
    block.rows[r] = static_cast<uint16_t>(chosen.row(r % 2, r / 2) | (signs << 9));
  }
}

void pack(const Chosen<2>& chosen, size_t, IQ2_S& block) {
  pack_group_codes(chosen, block);
  std::memset(block.high_bits, 0, sizeof(block.high_bits));
  for (size_t r = 0; r < 32; ++r) {
    const unsigned index = chosen.row(r % 2, r / 2);
    block.codes[r] = static_cast<uint8_t>(index & 0xFF);
    block.high_bits[r / 4] |= static_cast<uint8_t>((index >> 8) << (2 * (r % 4)));
    block.signs[r] = static_cast<uint8_t>(chosen.sign_bits(r % 2, r / 2));
  }
}

template <class Block, class Groups>
void encode(const EncodeJob& job, const Groups& groups, bool has_even_signs, int rounds) {
  constexpr size_t kSize = Groups::kSize;
  constexpr size_t kWidth = Groups::kWidth;
  for_each_batch<kSize>(
      job, [&](const GroupBatch<kSize>& signed_batch, size_t first, size_t count) {
        GroupBatch<kSize> batch = signed_batch;
        Chosen<Groups::kRows> chosen;
        split_signs(batch, has_even_signs, chosen.signs);
        const TableChoice<Groups> best = choose_rows(groups, batch, kTargets, rounds);
        chosen.code = best.code;
        for (size_t r = 0; r < Groups::kRows; ++r)
          for (size_t g = 0; g < kLanes; ++g)
            chosen.index[r][g] = groups.table.index(best.rows.row[r][g]);
        store_half_bits(best.block_scale, chosen.scale);
        for (size_t g = 0; g < count; g += kWidth) {
          Block block;
          block.scale = Half{chosen.scale[g]};
          pack(chosen, g, block);
          std::memcpy(job.out + (first + g) / kWidth * sizeof(Block), &block, sizeof(block));
        }
      });
}

}  // namespace

void encode_iq2_xxs(const EncodeJob& job) {
  encode<IQ2_XXS>(job, RowsOfEight<256, 4>{xxs_table()}, true, 2);
}

void encode_iq2_xs(const EncodeJob& job) {
  encode<IQ2_XS>(job, RowsOfEight<512, 2>{xs_table()}, true, 2);
}

void encode_iq2_s(const EncodeJob& job) {
  encode<IQ2_S>(job, RowsOfEight<1024, 2>{s_table()}, false, 1);
}

}  // namespace ingot::quant::INGOT_TARGET
