// SPDX-License-Identifier: Apache-2.0
// Weight names as Hugging Face checkpoints spell them: most families name their tensors like Llama
// and differ in a few, so arch files start from Llama's plan and rename.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/hf_decoder.h"
#include "model/mapper.h"

namespace ingot {

// NAME.weight, and NAME.bias where there is one.
LinearSource linear_named(const std::string& name, bool has_bias);
NormSource norm_named(const std::string& name, bool has_bias);

// The same rows of weight and bias.
LinearSource rows_of(const LinearSource& fused, const std::vector<RowRange>& rows);

// Splits a fused linear into its consecutive parts: q, k and v one after the other ...
void split_qkv(const LinearSource& fused, const AttentionSpec& attention, LayerSources& layer);
// ... or for every kv head its queries, its key and its value (GPT-NeoX, Falcon).
void split_grouped_qkv(const LinearSource& fused, const AttentionSpec& attention,
                       LayerSources& layer);
// Gate above up.
void split_gate_up(const LinearSource& fused, int64_t ffn, LayerSources& layer);

struct LlamaBiases {
  bool qkv = false;
  bool o = false;
  bool ffn = false;
  bool norm = false;
};

// Those of attention, where the config has any.
Result<LlamaBiases> read_attention_biases(const HfConfig& config);

// Equal layers named like Llama's. Ungated FFNs have no gate.
ModelPlan llama_plan(const HfDecoder& decoder, const LlamaBiases& biases);

// `layers` equal layers and nothing else named: for families with names of their own.
ModelPlan unnamed_plan(const HfDecoder& decoder);
// Names the output, unless the embedding serves.
void name_output(const std::string& name, bool has_bias, ModelPlan& plan);

// Norms of queries and keys, named like Llama's other parts of self_attn.
void name_qk_norms(const std::string& q, const std::string& k, bool has_bias, ModelPlan& plan);

// Norms after each branch only: post_attention_layernorm and post_feedforward_layernorm.
void use_post_norms(ModelPlan& plan);

AttentionSpec& attention_of(LayerSpec& layer);

// layers[i] sees `window` tokens where slides[i].
void set_windows(const std::vector<bool>& slides, int64_t window, ModelPlan& plan);
// layers[i] turns by ropes[rope] where chosen[i]; -1 for no rotation.
void set_ropes(const std::vector<bool>& chosen, int rope, ModelPlan& plan);

}  // namespace ingot
