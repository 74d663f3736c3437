// SPDX-License-Identifier: Apache-2.0
// Where each mixture spends its extra bits: which kinds of tensors, in which layers. The rules are
// the field's own, found by trying: attention's values and the way down from the feed-forward
// network hurt most, and there the first and last eighth of the layers. For mixture.cc only.
#pragma once

#include "quant/mixture.h"

namespace ingot {

// For the output matrix and for an embedding that is also the output.
Layout output_layout(const Mixture& mixture);
// For every other matrix; blocks may not fit its columns.
Layout matrix_layout(const Mixture& mixture, const TensorRole& role);

}  // namespace ingot
