// SPDX-License-Identifier: Apache-2.0
// IQ1_S and IQ1_M: rows of eight ternary values from one table of 2048, moved up or down by an
// eighth: all rows of a group alike (IQ1_S) or each its own way (IQ1_M).
#include "blocks/iq1_m.h"
#include "blocks/iq1_s.h"
#include "blocks/iq_grids.h"
#include "quant/encode/layout_encoders.h"
#include "quant/encode/table_groups.h"
#include "quant/encode/table_search.h"

namespace ingot::quant::INGOT_TARGET {
namespace {

using TernaryTable = TableSearch<8, 3, 2048>;

constexpr int8_t kLevels[] = {-1, 0, 1};
constexpr float kDelta = 0.125F;
constexpr float kTargets[] = {1.125F, 1.4F, 1.7F, 2.1F, 2.6F};

const TernaryTable& ternary_table() {
  static const TernaryTable table(kIq1Grid.rows, kLevels);
  return table;
}

// flags: bit r set where row r is moved down.
template <size_t kRowsOfGroup, bool kIsAlike>
struct TernaryRows {
  static constexpr size_t kRows = kRowsOfGroup;
  static constexpr size_t kSize = 8 * kRows;
  static constexpr size_t kWidth = 256 / kSize;
  const TernaryTable& table;
  float unit = 1.0F;
  float highest_code = 7.0F;

  inline void find(const GroupBatch<kSize>& batch, Lanes inverse, TableFit<kRows>& fit) const {
    constexpr float kShifts[] = {kDelta, -kDelta};
    TableFit<kRows> rows[2];
    Lanes sums[2][kRows][2];  // of weight * element * level, and of weight * level^2
    Lanes cost[2][kRows];
    Lanes total[2] = {};
    for (size_t way = 0; way < 2; ++way) {
      for (size_t r = 0; r < kRows; ++r) {
        const Lanes* x = batch.x + 8 * r;
        const Lanes* w = batch.w + 8 * r;
        Lanes t[8];
        for (size_t i = 0; i < 8; ++i)
          t[i] = x[i] * inverse;
        table.find(t, w, kShifts[way], rows[way].row[r]);
        Lanes(&sum)[2] = sums[way][r];
        sum[0] = Lanes{};
        sum[1] = Lanes{};
        add_row(table, rows[way].row[r], broadcast(kShifts[way]), x, w, sum[0], sum[1]);
        cost[way][r] = sum[1] - 2.0F * inverse * sum[0];
        total[way] += cost[way][r];
      }
    }
    fit.sum_xl = Lanes{};
    fit.sum_ll = Lanes{};
    fit.flags = LaneInts{};
    for (size_t r = 0; r < kRows; ++r) {
      const LaneInts is_down = kIsAlike ? total[1] < total[0] : cost[1][r] < cost[0][r];
      fit.row[r] = is_down ? rows[1].row[r] : rows[0].row[r];
      fit.flags |= is_down & broadcast(1 << r);
      fit.sum_xl += is_down ? sums[1][r][0] : sums[0][r][0];
      fit.sum_ll += is_down ? sums[1][r][1] : sums[0][r][1];
    }
  }
};

unsigned at(const LaneInts& lanes, size_t lane) {
  return static_cast<unsigned>(lanes[lane]);
}

void pack(const TernaryTable& table, const TableChoice<TernaryRows<4, true>>& chosen,
          uint16_t scale, size_t first, IQ1_S& block) {
  block.scale = Half{scale};
  for (size_t g = 0; g < 8; ++g) {
    unsigned group = static_cast<unsigned>(chosen.code[first + g]) << 12;
    group |= (at(chosen.rows.flags, first + g) & 1u) << 15;
    for (size_t r = 0; r < 4; ++r) {
      const unsigned index = table.index(chosen.rows.row[r][first + g]);
      block.codes[4 * g + r] = static_cast<uint8_t>(index & 0xFF);
      group |= (index >> 8) << (3 * r);
    }
    block.groups[g] = static_cast<uint16_t>(group);
  }
}

void pack(const TernaryTable& table, const TableChoice<TernaryRows<2, false>>& chosen,
          uint16_t scale, size_t, IQ1_M& block) {
  for (size_t g = 0; g < 16; ++g) {
    unsigned both = 0;
    for (size_t r = 0; r < 2; ++r) {
      const unsigned index = table.index(chosen.rows.row[r][g]);
      const unsigned is_down = (at(chosen.rows.flags, g) >> r) & 1u;
      block.codes[2 * g + r] = static_cast<uint8_t>(index & 0xFF);
      both |= ((index >> 8) | (is_down << 3)) << (4 * r);
    }
    block.high_bits[g] = static_cast<uint8_t>(both);
  }
  for (size_t k = 0; k < 4; ++k) {
    unsigned word = ((static_cast<unsigned>(scale) >> (4 * k)) & 0xFu) << 12;
    for (size_t g = 0; g < 4; ++g)
      word |= static_cast<unsigned>(chosen.code[4 * k + g]) << (3 * g);
    block.group_scales[k] = static_cast<uint16_t>(word);
  }
}

template <class Block, class Groups>
void encode(const EncodeJob& job, const Groups& groups) {
  constexpr size_t kWidth = Groups::kWidth;
  for_each_batch<Groups::kSize>(
      job, [&](const GroupBatch<Groups::kSize>& batch, size_t first, size_t count) {
        const TableChoice<Groups> chosen = choose_rows(groups, batch, kTargets, 1);
        uint16_t bits[kLanes];
        store_half_bits(chosen.block_scale, bits);
        for (size_t g = 0; g < count; g += kWidth) {
          Block block;
          pack(groups.table, chosen, bits[g], g, block);
          std::memcpy(job.out + (first + g) / kWidth * sizeof(Block), &block, sizeof(block));
        }
      });
}

}  // namespace

void encode_iq1_s(const EncodeJob& job) {
  encode<IQ1_S>(job, TernaryRows<4, true>{ternary_table()});
}

void encode_iq1_m(const EncodeJob& job) {
  encode<IQ1_M>(job, TernaryRows<2, false>{ternary_table()});
}

}  // namespace ingot::quant::INGOT_TARGET
