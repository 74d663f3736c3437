// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/linear.h"
#include "kernels/linear_ref.h"
#if INGOT_X86
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx512/linear.h"
#include "kernels/cpu/avx512_bf16/linear.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/i8mm/linear.h"
#include "kernels/cpu/neon/linear.h"
#endif

namespace ingot {
namespace {

using enum Packing;
constexpr auto kX32 = ActivationLayout::kF32;
constexpr auto kX16 = ActivationLayout::kBF16;
constexpr auto kX8G32 = ActivationLayout::kQ8G32;
constexpr auto kX8G256 = ActivationLayout::kQ8G256;
[[maybe_unused]] constexpr auto kX8G32Tiles = ActivationLayout::kQ8G32Tiles;
[[maybe_unused]] constexpr auto kX8G256Tiles = ActivationLayout::kQ8G256Tiles;

// A family's reference for one of its packings.
template <void (*Family)(const LinearArgs&, Packing, int64_t, int64_t), Packing kPacking>
void of(const LinearArgs& args, int64_t begin, int64_t end) {
  Family(args, kPacking, begin, end);
}

// Best first within a packing; each also has a scalar reference.
// clang-format off: a table
constexpr LinearKernel kLinearKernels[] = {
#if INGOT_X86
    {"linear_groups4_amx", kGroups4, Target::kAmx, kX8G32, cpu::linear_groups4_amx, cpu::kAmxTokens,
     kX8G32Tiles},
    {"linear_groups4min_amx", kGroups4Min, Target::kAmx, kX8G32, cpu::linear_groups4min_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups5_amx", kGroups5, Target::kAmx, kX8G32, cpu::linear_groups5_amx, cpu::kAmxTokens,
     kX8G32Tiles},
    {"linear_groups5min_amx", kGroups5Min, Target::kAmx, kX8G32, cpu::linear_groups5min_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups8_amx", kGroups8, Target::kAmx, kX8G32, cpu::linear_groups8_amx, cpu::kAmxTokens,
     kX8G32Tiles},
    {"linear_groups_iq4_amx", kGroupsIq4, Target::kAmx, kX8G32, cpu::linear_groups_iq4_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups_nf4bytes_amx", kGroupsNf4Bytes, Target::kAmx, kX8G32,
     cpu::linear_groups_nf4bytes_amx, cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups_fp4_amx", kGroupsFp4, Target::kAmx, kX8G32, cpu::linear_groups_fp4_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups2zero_amx", kGroups2Zero, Target::kAmx, kX8G32, cpu::linear_groups2zero_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups3zero_amx", kGroups3Zero, Target::kAmx, kX8G32, cpu::linear_groups3zero_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_groups4zero_amx", kGroups4Zero, Target::kAmx, kX8G32, cpu::linear_groups4zero_amx,
     cpu::kAmxTokens, kX8G32Tiles},
    {"linear_blocks2min_amx", kBlocks2Min, Target::kAmx, kX8G256, cpu::linear_blocks2min_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks3_amx", kBlocks3, Target::kAmx, kX8G256, cpu::linear_blocks3_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks4min_amx", kBlocks4Min, Target::kAmx, kX8G256, cpu::linear_blocks4min_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks5min_amx", kBlocks5Min, Target::kAmx, kX8G256, cpu::linear_blocks5min_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks6_amx", kBlocks6, Target::kAmx, kX8G256, cpu::linear_blocks6_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks_iq4_amx", kBlocksIq4, Target::kAmx, kX8G256, cpu::linear_blocks_iq4_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_groups1_amx", kGroups1, Target::kAmx, kX8G32, cpu::linear_groups1_amx, cpu::kAmxTokens,
     kX8G32Tiles},
    {"linear_groups2_amx", kGroups2, Target::kAmx, kX8G32, cpu::linear_groups2_amx, cpu::kAmxTokens,
     kX8G32Tiles},
    {"linear_blocks2_amx", kBlocks2, Target::kAmx, kX8G256, cpu::linear_blocks2_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks_iq1_amx", kBlocksIq1, Target::kAmx, kX8G256, cpu::linear_blocks_iq1_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks_iq1m_amx", kBlocksIq1M, Target::kAmx, kX8G256, cpu::linear_blocks_iq1m_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks_iq2_amx", kBlocksIq2, Target::kAmx, kX8G256, cpu::linear_blocks_iq2_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks_iq3xxs_amx", kBlocksIq3Xxs, Target::kAmx, kX8G256,
     cpu::linear_blocks_iq3xxs_amx, cpu::kAmxTokens, kX8G256Tiles},
    {"linear_blocks_iq3s_amx", kBlocksIq3S, Target::kAmx, kX8G256, cpu::linear_blocks_iq3s_amx,
     cpu::kAmxTokens, kX8G256Tiles},
    {"linear_bf16pairs_amx", kBF16Pairs, Target::kAmx, kX16, cpu::linear_bf16pairs_amx, 1,
     ActivationLayout::kBF16Tiles},
    {"linear_bf16pairs_avx512_bf16", kBF16Pairs, Target::kAvx512Bf16, kX16,
     cpu::linear_bf16pairs_avx512_bf16},
    {"linear_f8pairs_avx512_bf16", kF8Pairs, Target::kAvx512Bf16, kX16,
     cpu::linear_f8pairs_avx512_bf16},
    {"linear_f16words_avx512", kF16Words, Target::kAvx512, ActivationLayout::kI16G64,
     cpu::linear_f16words_avx512},
    {"linear_rows_avx512", kRows, Target::kAvx512, kX32, cpu::linear_rows_avx512},
    {"linear_f32_avx512", kF32, Target::kAvx512, kX32, cpu::linear_f32_avx512},
    {"linear_f16_avx512", kF16, Target::kAvx512, kX32, cpu::linear_f16_avx512},
    {"linear_bf16_avx512", kBF16, Target::kAvx512, kX32, cpu::linear_bf16_avx512},
    {"linear_f8_avx512", kF8, Target::kAvx512, kX32, cpu::linear_f8_avx512},
    {"linear_groups4_avx512", kGroups4, Target::kAvx512, kX8G32, cpu::linear_groups4_avx512},
    {"linear_groups4min_avx512", kGroups4Min, Target::kAvx512, kX8G32,
     cpu::linear_groups4min_avx512},
    {"linear_groups5_avx512", kGroups5, Target::kAvx512, kX8G32, cpu::linear_groups5_avx512},
    {"linear_groups5min_avx512", kGroups5Min, Target::kAvx512, kX8G32,
     cpu::linear_groups5min_avx512},
    {"linear_groups8_avx512", kGroups8, Target::kAvx512, kX8G32, cpu::linear_groups8_avx512},
    {"linear_groups_iq4_avx512", kGroupsIq4, Target::kAvx512, kX8G32,
     cpu::linear_groups_iq4_avx512},
    {"linear_groups_nf4bytes_avx512", kGroupsNf4Bytes, Target::kAvx512, kX8G32,
     cpu::linear_groups_nf4bytes_avx512},
    {"linear_groups_fp4_avx512", kGroupsFp4, Target::kAvx512, kX8G32,
     cpu::linear_groups_fp4_avx512},
    {"linear_groups2zero_avx512", kGroups2Zero, Target::kAvx512, kX8G32,
     cpu::linear_groups2zero_avx512},
    {"linear_groups3zero_avx512", kGroups3Zero, Target::kAvx512, kX8G32,
     cpu::linear_groups3zero_avx512},
    {"linear_groups4zero_avx512", kGroups4Zero, Target::kAvx512, kX8G32,
     cpu::linear_groups4zero_avx512},
    {"linear_groups8zero_avx512", kGroups8Zero, Target::kAvx512, kX8G32,
     cpu::linear_groups8zero_avx512},
    {"linear_groups_nf4_avx512", kGroupsNf4, Target::kAvx512, kX8G32,
     cpu::linear_groups_nf4_avx512},
    {"linear_groups_bnb_fp4_avx512", kGroupsBnbFp4, Target::kAvx512, kX8G32,
     cpu::linear_groups_bnb_fp4_avx512},
    {"linear_blocks2min_avx512", kBlocks2Min, Target::kAvx512, kX8G256,
     cpu::linear_blocks2min_avx512},
    {"linear_blocks3_avx512", kBlocks3, Target::kAvx512, kX8G256, cpu::linear_blocks3_avx512},
    {"linear_blocks4min_avx512", kBlocks4Min, Target::kAvx512, kX8G256,
     cpu::linear_blocks4min_avx512},
    {"linear_blocks5min_avx512", kBlocks5Min, Target::kAvx512, kX8G256,
     cpu::linear_blocks5min_avx512},
    {"linear_blocks6_avx512", kBlocks6, Target::kAvx512, kX8G256, cpu::linear_blocks6_avx512},
    {"linear_blocks_iq4_avx512", kBlocksIq4, Target::kAvx512, kX8G256,
     cpu::linear_blocks_iq4_avx512},
    {"linear_groups1_avx512", kGroups1, Target::kAvx512, kX8G32, cpu::linear_groups1_avx512},
    {"linear_groups2_avx512", kGroups2, Target::kAvx512, kX8G32, cpu::linear_groups2_avx512},
    {"linear_groups_nvfp4_avx512", kGroupsNvfp4, Target::kAvx512, kX8G32,
     cpu::linear_groups_nvfp4_avx512},
    {"linear_blocks2_avx512", kBlocks2, Target::kAvx512, kX8G256, cpu::linear_blocks2_avx512},
    {"linear_blocks_iq1_avx512", kBlocksIq1, Target::kAvx512, kX8G256,
     cpu::linear_blocks_iq1_avx512},
    {"linear_blocks_iq1m_avx512", kBlocksIq1M, Target::kAvx512, kX8G256,
     cpu::linear_blocks_iq1m_avx512},
    {"linear_blocks_iq2_avx512", kBlocksIq2, Target::kAvx512, kX8G256,
     cpu::linear_blocks_iq2_avx512},
    {"linear_blocks_iq3xxs_avx512", kBlocksIq3Xxs, Target::kAvx512, kX8G256,
     cpu::linear_blocks_iq3xxs_avx512},
    {"linear_blocks_iq3s_avx512", kBlocksIq3S, Target::kAvx512, kX8G256,
     cpu::linear_blocks_iq3s_avx512},
    {"linear_rows_avx2", kRows, Target::kAvx2, kX32, cpu::linear_rows_avx2},
    {"linear_f32_avx2", kF32, Target::kAvx2, kX32, cpu::linear_f32_avx2},
    {"linear_f16_avx2", kF16, Target::kAvx2, kX32, cpu::linear_f16_avx2},
    {"linear_bf16_avx2", kBF16, Target::kAvx2, kX32, cpu::linear_bf16_avx2},
    {"linear_f8_avx2", kF8, Target::kAvx2, kX32, cpu::linear_f8_avx2},
    {"linear_groups4_avx2", kGroups4, Target::kAvx2, kX8G32, cpu::linear_groups4_avx2},
    {"linear_groups4min_avx2", kGroups4Min, Target::kAvx2, kX8G32, cpu::linear_groups4min_avx2},
    {"linear_groups5_avx2", kGroups5, Target::kAvx2, kX8G32, cpu::linear_groups5_avx2},
    {"linear_groups5min_avx2", kGroups5Min, Target::kAvx2, kX8G32, cpu::linear_groups5min_avx2},
    {"linear_groups8_avx2", kGroups8, Target::kAvx2, kX8G32, cpu::linear_groups8_avx2},
    {"linear_groups_iq4_avx2", kGroupsIq4, Target::kAvx2, kX8G32, cpu::linear_groups_iq4_avx2},
    {"linear_groups_nf4bytes_avx2", kGroupsNf4Bytes, Target::kAvx2, kX8G32,
     cpu::linear_groups_nf4bytes_avx2},
    {"linear_groups_fp4_avx2", kGroupsFp4, Target::kAvx2, kX8G32, cpu::linear_groups_fp4_avx2},
    {"linear_groups2zero_avx2", kGroups2Zero, Target::kAvx2, kX8G32, cpu::linear_groups2zero_avx2},
    {"linear_groups3zero_avx2", kGroups3Zero, Target::kAvx2, kX8G32, cpu::linear_groups3zero_avx2},
    {"linear_groups4zero_avx2", kGroups4Zero, Target::kAvx2, kX8G32, cpu::linear_groups4zero_avx2},
    {"linear_groups8zero_avx2", kGroups8Zero, Target::kAvx2, kX8G32, cpu::linear_groups8zero_avx2},
    {"linear_groups_nf4_avx2", kGroupsNf4, Target::kAvx2, kX8G32, cpu::linear_groups_nf4_avx2},
    {"linear_groups_bnb_fp4_avx2", kGroupsBnbFp4, Target::kAvx2, kX8G32,
     cpu::linear_groups_bnb_fp4_avx2},
    {"linear_blocks2min_avx2", kBlocks2Min, Target::kAvx2, kX8G256, cpu::linear_blocks2min_avx2},
    {"linear_blocks3_avx2", kBlocks3, Target::kAvx2, kX8G256, cpu::linear_blocks3_avx2},
    {"linear_blocks4min_avx2", kBlocks4Min, Target::kAvx2, kX8G256, cpu::linear_blocks4min_avx2},
    {"linear_blocks5min_avx2", kBlocks5Min, Target::kAvx2, kX8G256, cpu::linear_blocks5min_avx2},
    {"linear_blocks6_avx2", kBlocks6, Target::kAvx2, kX8G256, cpu::linear_blocks6_avx2},
    {"linear_blocks_iq4_avx2", kBlocksIq4, Target::kAvx2, kX8G256, cpu::linear_blocks_iq4_avx2},
    {"linear_groups1_avx2", kGroups1, Target::kAvx2, kX8G32, cpu::linear_groups1_avx2},
    {"linear_groups2_avx2", kGroups2, Target::kAvx2, kX8G32, cpu::linear_groups2_avx2},
    {"linear_groups_nvfp4_avx2", kGroupsNvfp4, Target::kAvx2, kX8G32,
     cpu::linear_groups_nvfp4_avx2},
    {"linear_blocks2_avx2", kBlocks2, Target::kAvx2, kX8G256, cpu::linear_blocks2_avx2},
    {"linear_blocks_iq1_avx2", kBlocksIq1, Target::kAvx2, kX8G256, cpu::linear_blocks_iq1_avx2},
    {"linear_blocks_iq1m_avx2", kBlocksIq1M, Target::kAvx2, kX8G256, cpu::linear_blocks_iq1m_avx2},
    {"linear_blocks_iq2_avx2", kBlocksIq2, Target::kAvx2, kX8G256, cpu::linear_blocks_iq2_avx2},
    {"linear_blocks_iq3xxs_avx2", kBlocksIq3Xxs, Target::kAvx2, kX8G256,
     cpu::linear_blocks_iq3xxs_avx2},
    {"linear_blocks_iq3s_avx2", kBlocksIq3S, Target::kAvx2, kX8G256, cpu::linear_blocks_iq3s_avx2},
#endif
#if INGOT_ARM
    {"linear_groups4_i8mm", kGroups4, Target::kNeonI8mm, kX8G32, cpu::linear_groups4_i8mm},
    {"linear_groups4min_i8mm", kGroups4Min, Target::kNeonI8mm, kX8G32, cpu::linear_groups4min_i8mm},
    {"linear_groups5_i8mm", kGroups5, Target::kNeonI8mm, kX8G32, cpu::linear_groups5_i8mm},
    {"linear_groups5min_i8mm", kGroups5Min, Target::kNeonI8mm, kX8G32, cpu::linear_groups5min_i8mm},
    {"linear_groups8_i8mm", kGroups8, Target::kNeonI8mm, kX8G32, cpu::linear_groups8_i8mm},
    {"linear_groups_iq4_i8mm", kGroupsIq4, Target::kNeonI8mm, kX8G32, cpu::linear_groups_iq4_i8mm},
    {"linear_groups_nf4bytes_i8mm", kGroupsNf4Bytes, Target::kNeonI8mm, kX8G32,
     cpu::linear_groups_nf4bytes_i8mm},
    {"linear_groups_fp4_i8mm", kGroupsFp4, Target::kNeonI8mm, kX8G32, cpu::linear_groups_fp4_i8mm},
    {"linear_blocks2min_i8mm", kBlocks2Min, Target::kNeonI8mm, kX8G256,
     cpu::linear_blocks2min_i8mm},
    {"linear_blocks3_i8mm", kBlocks3, Target::kNeonI8mm, kX8G256, cpu::linear_blocks3_i8mm},
    {"linear_blocks4min_i8mm", kBlocks4Min, Target::kNeonI8mm, kX8G256,
     cpu::linear_blocks4min_i8mm},
    {"linear_blocks5min_i8mm", kBlocks5Min, Target::kNeonI8mm, kX8G256,
     cpu::linear_blocks5min_i8mm},
    {"linear_blocks6_i8mm", kBlocks6, Target::kNeonI8mm, kX8G256, cpu::linear_blocks6_i8mm},
    {"linear_blocks_iq4_i8mm", kBlocksIq4, Target::kNeonI8mm, kX8G256, cpu::linear_blocks_iq4_i8mm},
    {"linear_groups1_i8mm", kGroups1, Target::kNeonI8mm, kX8G32, cpu::linear_groups1_i8mm},
    {"linear_groups2_i8mm", kGroups2, Target::kNeonI8mm, kX8G32, cpu::linear_groups2_i8mm},
    {"linear_groups_nvfp4_i8mm", kGroupsNvfp4, Target::kNeonI8mm, kX8G32,
     cpu::linear_groups_nvfp4_i8mm},
    {"linear_blocks2_i8mm", kBlocks2, Target::kNeonI8mm, kX8G256, cpu::linear_blocks2_i8mm},
    {"linear_blocks_iq1_i8mm", kBlocksIq1, Target::kNeonI8mm, kX8G256, cpu::linear_blocks_iq1_i8mm},
    {"linear_blocks_iq1m_i8mm", kBlocksIq1M, Target::kNeonI8mm, kX8G256,
     cpu::linear_blocks_iq1m_i8mm},
    {"linear_blocks_iq2_i8mm", kBlocksIq2, Target::kNeonI8mm, kX8G256, cpu::linear_blocks_iq2_i8mm},
    {"linear_blocks_iq3xxs_i8mm", kBlocksIq3Xxs, Target::kNeonI8mm, kX8G256,
     cpu::linear_blocks_iq3xxs_i8mm},
    {"linear_blocks_iq3s_i8mm", kBlocksIq3S, Target::kNeonI8mm, kX8G256,
     cpu::linear_blocks_iq3s_i8mm},
    {"linear_rows_neon", kRows, Target::kNeon, kX32, cpu::linear_rows_neon},
    {"linear_f32_neon", kF32, Target::kNeon, kX32, cpu::linear_f32_neon},
    {"linear_f16_neon", kF16, Target::kNeon, kX32, cpu::linear_f16_neon},
    {"linear_bf16_neon", kBF16, Target::kNeon, kX32, cpu::linear_bf16_neon},
    {"linear_groups4_neon", kGroups4, Target::kNeon, kX8G32, cpu::linear_groups4_neon},
    {"linear_groups4min_neon", kGroups4Min, Target::kNeon, kX8G32, cpu::linear_groups4min_neon},
    {"linear_groups5_neon", kGroups5, Target::kNeon, kX8G32, cpu::linear_groups5_neon},
    {"linear_groups5min_neon", kGroups5Min, Target::kNeon, kX8G32, cpu::linear_groups5min_neon},
    {"linear_groups8_neon", kGroups8, Target::kNeon, kX8G32, cpu::linear_groups8_neon},
    {"linear_groups_iq4_neon", kGroupsIq4, Target::kNeon, kX8G32, cpu::linear_groups_iq4_neon},
    {"linear_groups_nf4bytes_neon", kGroupsNf4Bytes, Target::kNeon, kX8G32,
     cpu::linear_groups_nf4bytes_neon},
    {"linear_groups_fp4_neon", kGroupsFp4, Target::kNeon, kX8G32, cpu::linear_groups_fp4_neon},
    {"linear_blocks2min_neon", kBlocks2Min, Target::kNeon, kX8G256, cpu::linear_blocks2min_neon},
    {"linear_blocks3_neon", kBlocks3, Target::kNeon, kX8G256, cpu::linear_blocks3_neon},
    {"linear_blocks4min_neon", kBlocks4Min, Target::kNeon, kX8G256, cpu::linear_blocks4min_neon},
    {"linear_blocks5min_neon", kBlocks5Min, Target::kNeon, kX8G256, cpu::linear_blocks5min_neon},
    {"linear_blocks6_neon", kBlocks6, Target::kNeon, kX8G256, cpu::linear_blocks6_neon},
    {"linear_blocks_iq4_neon", kBlocksIq4, Target::kNeon, kX8G256, cpu::linear_blocks_iq4_neon},
    {"linear_groups1_neon", kGroups1, Target::kNeon, kX8G32, cpu::linear_groups1_neon},
    {"linear_groups2_neon", kGroups2, Target::kNeon, kX8G32, cpu::linear_groups2_neon},
    {"linear_groups_nvfp4_neon", kGroupsNvfp4, Target::kNeon, kX8G32,
     cpu::linear_groups_nvfp4_neon},
    {"linear_blocks2_neon", kBlocks2, Target::kNeon, kX8G256, cpu::linear_blocks2_neon},
    {"linear_blocks_iq1_neon", kBlocksIq1, Target::kNeon, kX8G256, cpu::linear_blocks_iq1_neon},
    {"linear_blocks_iq1m_neon", kBlocksIq1M, Target::kNeon, kX8G256, cpu::linear_blocks_iq1m_neon},
    {"linear_blocks_iq2_neon", kBlocksIq2, Target::kNeon, kX8G256, cpu::linear_blocks_iq2_neon},
    {"linear_blocks_iq3xxs_neon", kBlocksIq3Xxs, Target::kNeon, kX8G256,
     cpu::linear_blocks_iq3xxs_neon},
    {"linear_blocks_iq3s_neon", kBlocksIq3S, Target::kNeon, kX8G256, cpu::linear_blocks_iq3s_neon},
#endif
    {"linear_rows_ref", kRows, Target::kScalar, kX32, ref::linear_rows},
    {"linear_f32_ref", kF32, Target::kScalar, kX32, of<ref::linear_floats, kF32>},
    {"linear_f16_ref", kF16, Target::kScalar, kX32, of<ref::linear_floats, kF16>},
    {"linear_bf16_ref", kBF16, Target::kScalar, kX32, of<ref::linear_floats, kBF16>},
    {"linear_f16words_ref", kF16Words, Target::kScalar, ActivationLayout::kI16G64,
     ref::linear_words},
    {"linear_bf16pairs_ref", kBF16Pairs, Target::kScalar, kX16, of<ref::linear_floats, kBF16Pairs>},
    {"linear_f8_ref", kF8, Target::kScalar, kX32, of<ref::linear_floats, kF8>},
    {"linear_f8pairs_ref", kF8Pairs, Target::kScalar, kX16, of<ref::linear_floats, kF8Pairs>},
    {"linear_groups4_ref", kGroups4, Target::kScalar, kX8G32, of<ref::linear_groups, kGroups4>},
    {"linear_groups4min_ref", kGroups4Min, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroups4Min>},
    {"linear_groups5_ref", kGroups5, Target::kScalar, kX8G32, of<ref::linear_groups, kGroups5>},
    {"linear_groups5min_ref", kGroups5Min, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroups5Min>},
    {"linear_groups8_ref", kGroups8, Target::kScalar, kX8G32, of<ref::linear_groups, kGroups8>},
    {"linear_groups_iq4_ref", kGroupsIq4, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroupsIq4>},
    {"linear_groups_nf4bytes_ref", kGroupsNf4Bytes, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroupsNf4Bytes>},
    {"linear_groups_fp4_ref", kGroupsFp4, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroupsFp4>},
    {"linear_groups2zero_ref", kGroups2Zero, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroups2Zero>},
    {"linear_groups3zero_ref", kGroups3Zero, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroups3Zero>},
    {"linear_groups4zero_ref", kGroups4Zero, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroups4Zero>},
    {"linear_groups8zero_ref", kGroups8Zero, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroups8Zero>},
    {"linear_groups_nf4_ref", kGroupsNf4, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroupsNf4>},
    {"linear_groups_bnb_fp4_ref", kGroupsBnbFp4, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroupsBnbFp4>},
    {"linear_blocks2min_ref", kBlocks2Min, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocks2Min>},
    {"linear_blocks3_ref", kBlocks3, Target::kScalar, kX8G256, of<ref::linear_blocks, kBlocks3>},
    {"linear_blocks4min_ref", kBlocks4Min, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocks4Min>},
    {"linear_blocks5min_ref", kBlocks5Min, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocks5Min>},
    {"linear_blocks6_ref", kBlocks6, Target::kScalar, kX8G256, of<ref::linear_blocks, kBlocks6>},
    {"linear_blocks_iq4_ref", kBlocksIq4, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocksIq4>},
    {"linear_groups1_ref", kGroups1, Target::kScalar, kX8G32, of<ref::linear_groups, kGroups1>},
    {"linear_groups2_ref", kGroups2, Target::kScalar, kX8G32, of<ref::linear_groups, kGroups2>},
    {"linear_groups_nvfp4_ref", kGroupsNvfp4, Target::kScalar, kX8G32,
     of<ref::linear_groups, kGroupsNvfp4>},
    {"linear_blocks2_ref", kBlocks2, Target::kScalar, kX8G256, of<ref::linear_blocks, kBlocks2>},
    {"linear_blocks_iq1_ref", kBlocksIq1, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocksIq1>},
    {"linear_blocks_iq1m_ref", kBlocksIq1M, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocksIq1M>},
    {"linear_blocks_iq2_ref", kBlocksIq2, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocksIq2>},
    {"linear_blocks_iq3xxs_ref", kBlocksIq3Xxs, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocksIq3Xxs>},
    {"linear_blocks_iq3s_ref", kBlocksIq3S, Target::kScalar, kX8G256,
     of<ref::linear_blocks, kBlocksIq3S>},
};
// clang-format on

bool is_weight(Layout layout) {
  const bool is_integer = layout >= Layout::kI8 && layout <= Layout::kU64;
  return !is_integer && layout != Layout::kBool && layout != Layout::kC64;
}

}  // namespace

std::span<const LinearKernel> linear_kernels() {
  return kLinearKernels;
}

const LinearKernel* choose_linear(Layout layout, int64_t cols, TargetSet targets) {
  if (!is_weight(layout)) return nullptr;
  return choose_linear(packing_of(layout, cols, targets), targets);
}

const LinearKernel* choose_linear(Packing packing, TargetSet targets) {
  const auto it = std::ranges::find_if(kLinearKernels, [&](const LinearKernel& kernel) {
    return kernel.packing == packing && targets.has(kernel.target);
  });
  return it == std::end(kLinearKernels) ? nullptr : &*it;
}

}  // namespace ingot
