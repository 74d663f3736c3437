// SPDX-License-Identifier: Apache-2.0
// A RoleTensor, or a tensor of the input as it is, with the functions that read it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "convert/role_tensors.h"
#include "convert/source_tensor.h"

namespace ingot {

// `added` is put on every value: Gemma's norms are stored less one in one format only.
Result<SourceTensor> make_source(std::shared_ptr<const WeightInput> input, const RoleTensor& role,
                                 float added);
// Numbers that no tensor of the input holds.
SourceTensor computed_source(std::string name, std::vector<float> values);
// Unchanged but for an adapter; `module` is the name that one knows it by.
SourceTensor kept_source(std::shared_ptr<const Checkpoint> checkpoint,
                         std::shared_ptr<const LoraAdapter> adapter, const TensorEntry& entry);

}  // namespace ingot
