// SPDX-License-Identifier: Apache-2.0
// From a Layout known at run time to its block type known at compile time: one list of all packed
// layouts, walked by a templated lambda. A new packed layout is its own header and one line here.
#pragma once

#include "blocks/iq1_m.h"
#include "blocks/iq1_s.h"
#include "blocks/iq2_s.h"
#include "blocks/iq2_xs.h"
#include "blocks/iq2_xxs.h"
#include "blocks/iq3_s.h"
#include "blocks/iq3_xxs.h"
#include "blocks/iq4_nl.h"
#include "blocks/iq4_xs.h"
#include "blocks/mxfp4.h"
#include "blocks/nvfp4.h"
#include "blocks/q1_0.h"
#include "blocks/q2_0.h"
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_0.h"
#include "blocks/q4_1.h"
#include "blocks/q4_k.h"
#include "blocks/q5_0.h"
#include "blocks/q5_1.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "blocks/q8_0.h"
#include "blocks/q8_1.h"
#include "blocks/q8_k.h"
#include "blocks/tq1_0.h"
#include "blocks/tq2_0.h"

namespace ingot {

template <class... Blocks>
struct BlockList {
  template <class Visitor>
  static bool visit(Layout layout, Visitor& visitor) {
    return ((layout == Blocks::kLayout && (visitor.template operator()<Blocks>(), true)) || ...);
  }
};

using PackedLayouts = BlockList<Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
                                Q8_K, IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ4_NL,
                                IQ4_XS, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0>;

// Calls visitor.operator()<Block>() with the layout's block; false for layouts of plain elements.
//   visit_layout(layout, [&]<class Block>() { ... });
template <class Visitor>
bool visit_layout(Layout layout, Visitor&& visitor) {
  return PackedLayouts::visit(layout, visitor);
}

}  // namespace ingot
