// SPDX-License-Identifier: Apache-2.0
// A model as data. A mapper (arch/*.cc) turns config.json or GGUF metadata into a ModelSpec; one
// decoder walks it. Everything here is plain values: what differs between architectures is a field,
// never a second forward pass. Experts, latent attention and state-space mixers become further
// alternatives of Mixer and Ffn.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "kernels/elementwise.h"
#include "kernels/norm.h"
#include "kernels/rope.h"

namespace ingot {

struct NormSpec {
  NormKind kind = NormKind::kRms;
  float eps = 1e-5F;
  bool adds_one = false;   // the stored weight is w - 1 (Gemma, Nemotron)
  bool has_affine = true;  // false: no weight at all (OLMo 1)
  bool operator==(const NormSpec&) const = default;
};

enum class RopeScaling : uint8_t { kNone, kLinear, kDynamic, kYarn, kLlama3, kLongRope };

struct RopeSpec {
  RopePairing pairing = RopePairing::kHalves;
  int64_t rotary_dim = 0;  // even, at most the head's dimension
  double theta = 10000.0;
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;
  int64_t original_context = 0;  // yarn, llama3, longrope, dynamic: the length trained for
  double attention_factor = 0;   // 0: by the scaling's own rule
  double beta_fast = 32.0;       // yarn
  double beta_slow = 1.0;
  double mscale = 0;  // yarn (DeepSeek): 0 when not given
  double mscale_all_dim = 0;
  bool truncates = true;         // yarn: round the correction range outwards
  double low_freq_factor = 1.0;  // llama3
  double high_freq_factor = 4.0;
  // Per-pair divisors of the frequencies. longrope: short up to original_context, long beyond.
  // Otherwise (GGUF's rope_freqs) short_factors apply always.
  std::vector<float> short_factors;
  std::vector<float> long_factors;
  bool operator==(const RopeSpec&) const = default;
};

enum class QkNorm : uint8_t {
  kNone,
  kPerHead,         // one weight of head_dim, shared by all heads (Qwen 3, Gemma 3)
  kPerHeadWeights,  // weight [heads, head_dim] (Cohere, StableLM)
  kWhole,           // over all heads at once, weight [heads * head_dim] (OLMo 2)
};

struct AttentionSpec {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t key_dim = 0;    // per head, of queries and keys
  int64_t value_dim = 0;  // per head
  float scale = 0;        // of the scores, usually 1 / sqrt(key_dim)
  float softcap = 0;      // 0: none
  int64_t window = 0;     // 0: full
  int rope = -1;          // index into ModelSpec::ropes; -1: no rotation in this layer
  QkNorm qk_norm = QkNorm::kNone;
  NormSpec qk_norm_spec;
  bool norm_after_rope = false;  // q/k norm on the rotated vectors
  bool uses_alibi = false;
  float alibi_max = 8;    // the slopes are 2^(-alibi_max * i / heads), the usual rule
  float alibi_scale = 1;  // multiplies them (Falcon: 1 / sqrt(key_dim))
  bool has_sinks = false;
  float clip_qkv = 0;  // 0: none; else q, k, v are clamped to +-clip (OLMo 1)
  bool operator==(const AttentionSpec&) const = default;
};
using Mixer = std::variant<AttentionSpec>;

struct DenseFfnSpec {
  int64_t hidden = 0;
  Activation activation = Activation::kSilu;
  bool is_gated = true;  // down(act(gate(x)) * up(x)); else down(act(up(x)))
  bool operator==(const DenseFfnSpec&) const = default;
};
using Ffn = std::variant<DenseFfnSpec>;

// x + mixer(norm(x)), then + ffn(norm(.)): with the norms that are present. A "post" norm works on
// a branch's output before the residual sum (Gemma 2, OLMo 2, GLM-4). kParallel: both branches read
// the same x; the ffn's own pre-norm is used where it has one, else the mixer's (Phi, GPT-NeoX,
// Cohere). kPostResidual: norms after the residual sum (OPT-350m).
enum class BlockForm : uint8_t { kSequential, kParallel, kPostResidual };

struct LayerSpec {
  BlockForm form = BlockForm::kSequential;
  Mixer mixer;
  Ffn ffn;
  bool has_mixer_norm = true;
  bool has_mixer_post_norm = false;
  bool has_ffn_norm = true;
  bool has_ffn_post_norm = false;
  bool is_on_device = false;  // where it was loaded to: a GPU; no matter of the architecture
  bool operator==(const LayerSpec&) const = default;
};

struct ModelSpec {
  std::string architecture;  // "llama", "gemma2": the mapper's name, for people
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t embedding_dim = 0;  // 0: hidden; else projected in and out (OPT-350m)
  int64_t context = 0;        // positions the model was made for
  NormSpec norm;              // of all block norms and the final one
  std::vector<RopeSpec> ropes;
  std::vector<LayerSpec> layers;
  bool has_final_norm = true;
  bool has_embedding_norm = false;  // a norm right after the embedding (BLOOM)
  bool ties_output = false;         // the output head is the embedding
  int64_t learned_positions = 0;    // rows of a learned position table; 0: none
  int64_t position_offset = 0;      // added to the position before the look-up (OPT: 2)
  float embedding_scale = 1;
  float residual_scale = 1;  // multiplies each branch before the sum (Granite)
  float logit_scale = 1;     // multiplies the logits
  float logit_softcap = 0;
  std::vector<int32_t> eos_ids;  // from config or metadata; the tokenizer may know more
  int32_t bos_id = -1;
  bool operator==(const ModelSpec&) const = default;
};

}  // namespace ingot
