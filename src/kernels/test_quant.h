// SPDX-License-Identifier: Apache-2.0
// Random weights whose scales lie apart, of every scheme that has a packing, in any of the orders
// that files have.
#pragma once

#include <algorithm>
#include <numeric>

#include "kernels/code_levels.h"
#include "kernels/panel.h"
#include "kernels/panel_rounded.h"
#include "kernels/test_random.h"
#include "tensor/quant_tensor.h"

namespace ingot {

struct RandomQuant {
  std::vector<std::byte> codes;
  QuantTensor tensor;
};

inline QuantScheme random_scheme(Random& random, Packing packing, int64_t rows) {
  QuantScheme scheme;
  scheme.bits = info(packing).bits;
  if (is_e4m3(packing)) {
    scheme.meaning = CodeMeaning::kE4m3;
    scheme.group_columns = 128 * random.whole(1, 3);
    return scheme;
  }
  scheme.group_columns = 32 * random.whole(1, 5);
  std::vector<CodeOrder> orders = {CodeOrder::kRows, CodeOrder::kColumns};
  if (scheme.bits == 8) orders.push_back(CodeOrder::kRowsSigned);
  if (scheme.bits == 4) orders.push_back(CodeOrder::kRowsHighFirst);
  if (scheme.bits == 4 && rows % 8 == 0) orders.push_back(CodeOrder::kAwq);
  const bool has_levels = info(packing).form == ScaleForm::kFloats || is_rounded_levels(packing);
  if (has_levels) scheme.meaning = CodeMeaning::kLevels;
  scheme.order =
      orders[static_cast<size_t>(random.whole(0, static_cast<int64_t>(orders.size()) - 1))];
  return scheme;
}

// `rows` and `cols` as the kernels see them; the file may have more rows.
inline RandomQuant random_quant(Random& random, Packing packing, int64_t rows, int64_t cols) {
  RandomQuant result;
  QuantTensor& tensor = result.tensor;
  tensor.rows = (rows + 7) / 8 * 8 + 8 * random.whole(0, 1);
  tensor.cols = cols;
  tensor.scheme = random_scheme(random, packing, tensor.rows);
  result.codes.resize(static_cast<size_t>(tensor.rows * (cols * tensor.scheme.bits / 8)));
  for (std::byte& code : result.codes) {
    code = static_cast<std::byte>(random.whole(0, 255));
    const bool is_nan = (code & std::byte{0x7F}) == std::byte{0x7F};
    if (is_e4m3(packing) && is_nan) code = std::byte{1};
  }
  for (int64_t i = 0; i < tensor.rows * tensor.groups(); ++i) {
    tensor.scales.push_back(to_float(to_bfloat16(random.uniform(0.01F, 0.1F))));
    if (tensor.scheme.meaning == CodeMeaning::kAffine)
      tensor.zeros.push_back(static_cast<uint8_t>(random.whole(0, (1 << tensor.scheme.bits) - 1)));
  }
  if (tensor.scheme.meaning == CodeMeaning::kLevels) {
    const PackingInfo& facts = info(packing);
    for (int i = 0; i < 16; ++i) {
      if (is_rounded_levels(packing)) {
        tensor.levels.push_back(static_cast<float>(facts.levels[i]) / unit_of_levels(packing));
        continue;
      }
      const float unit = packing == Packing::kGroupsNf4 ? kNf4Unit : kBnbFp4Unit;
      tensor.levels.push_back(static_cast<float>(128 * facts.levels[i] + facts.low_levels[i]) /
                              unit);
    }
  }
  std::vector<int64_t> order(static_cast<size_t>(tensor.rows));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(random.whole(0, static_cast<int64_t>(i)))]);
  order.resize(static_cast<size_t>(rows));
  tensor.row_order = order;
  tensor.codes = result.codes;
  return result;
}

}  // namespace ingot
