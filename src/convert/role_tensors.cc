// SPDX-License-Identifier: Apache-2.0
#include "convert/role_tensors.h"

#include <variant>

namespace ingot {
namespace {

class RoleLister {
 public:
  RoleLister(const WeightInput& input, const GgufArch& arch)
      : input_(input), arch_(arch), spec_(input.plan().spec), weights_(input.plan().weights) {}

  std::vector<RoleTensor> run() {
    matrix("token_embd.weight", TensorKind::kEmbedding, -1, weights_.embedding, spec_.vocab,
           spec_.hidden);
    matrix("position_embd.weight", TensorKind::kPositions, -1, weights_.position_embedding,
           spec_.learned_positions, spec_.hidden);
    norm("token_embd_norm", -1, weights_.embedding_norm, Shape{width(spec_.hidden)});
    for (size_t i = 0; i < weights_.layers.size(); ++i)
      layer(i);
    norm("output_norm", -1, weights_.final_norm, Shape{width(spec_.hidden)});
    linear("output", TensorKind::kOutput, -1, weights_.output, spec_.vocab, spec_.hidden);
    return std::move(found_);
  }

 private:
  static uint64_t width(int64_t size) { return static_cast<uint64_t>(size); }

  bool is_there(const TensorSource& source) const {
    if (!source.exists()) return false;
    if (!source.is_optional) return true;
    for (const TensorPart& part : source.parts) {
      if (input_.find(part.name) == nullptr) return false;
    }
    return true;
  }

  void matrix(const std::string& name, TensorKind kind, int layer, const TensorSource& source,
              int64_t rows, int64_t cols) {
    if (!is_there(source)) return;
    found_.push_back({.name = name,
                      .shape = Shape{width(rows), width(cols)},
                      .kind = kind,
                      .layer = layer,
                      .parts = row_parts(source, rows)});
  }

  void vector(const std::string& name, TensorKind kind, int layer, const TensorSource& source,
              const Shape& shape) {
    if (!is_there(source)) return;
    const auto size = static_cast<int64_t>(shape.elements().value_or(0));
    found_.push_back({.name = name,
                      .shape = shape,
                      .kind = kind,
                      .layer = layer,
                      .parts = row_parts(source, size)});
  }

  void norm(const std::string& name, int layer, const NormSource& source, const Shape& shape) {
    const size_t before = found_.size();
    vector(name + ".weight", TensorKind::kNorm, layer, source.weight, shape);
    if (found_.size() > before) found_.back().is_norm_weight = true;
    vector(name + ".bias", TensorKind::kBias, layer, source.bias, shape);
  }

  void linear(const std::string& name, TensorKind kind, int layer, const LinearSource& source,
              int64_t rows, int64_t cols) {
    matrix(name + ".weight", kind, layer, source.weight, rows, cols);
    vector(name + ".bias", TensorKind::kBias, layer, source.bias, Shape{width(rows)});
  }

  // The newest tensors since `before` are of turned heads.
  void turn(size_t before, int64_t heads, int64_t head_rows) {
    for (size_t i = before; i < found_.size(); ++i) {
      found_[i].turned_heads = heads;
      found_[i].head_rows = head_rows;
    }
  }

  // Neighbouring rows of one tensor stay together: what the input fuses alike is one piece again.
  static void append(RowPart part, std::vector<RowPart>& parts) {
    RowPart* last = parts.empty() ? nullptr : &parts.back();
    const bool goes_on = last != nullptr && last->part.name == part.part.name &&
                         last->part.is_transposed == part.part.is_transposed &&
                         last->part.rows.size() == 1 && part.part.rows.size() == 1 &&
                         last->part.rows[0].end == part.part.rows[0].begin;
    if (!goes_on) return parts.push_back(std::move(part));
    last->part.rows[0].end = part.part.rows[0].end;
    last->rows += part.rows;
  }

  // Stacked sources do not all have the same rows, so each counts its own.
  void fuse(const std::string& name, TensorKind kind, int layer,
            std::initializer_list<std::pair<const TensorSource*, int64_t>> sources, int64_t cols) {
    std::vector<RowPart> parts;
    int64_t rows = 0;
    for (const auto& [source, count] : sources) {
      if (!is_there(*source)) return;
      for (RowPart& part : row_parts(*source, count))
        append(std::move(part), parts);
      rows += count;
    }
    const Shape shape = cols > 1 ? Shape{width(rows), width(cols)} : Shape{width(rows)};
    found_.push_back(
        {.name = name, .shape = shape, .kind = kind, .layer = layer, .parts = std::move(parts)});
  }

  void attention(const std::string& block, int index, const LayerSources& sources,
                 const AttentionSpec& attention) {
    const int64_t q = attention.heads * attention.key_dim;
    const int64_t k = attention.kv_heads * attention.key_dim;
    const int64_t v = attention.kv_heads * attention.value_dim;
    if (arch_.fuses_qkv) {
      fuse(block + "attn_qkv.weight", TensorKind::kQkv, index,
           {{&sources.q.weight, q}, {&sources.k.weight, k}, {&sources.v.weight, v}}, spec_.hidden);
      fuse(block + "attn_qkv.bias", TensorKind::kBias, index,
           {{&sources.q.bias, q}, {&sources.k.bias, k}, {&sources.v.bias, v}}, 1);
    } else {
      size_t before = found_.size();
      linear(block + "attn_q", TensorKind::kQ, index, sources.q, q, spec_.hidden);
      turn(before, attention.heads, attention.key_dim);
      before = found_.size();
      linear(block + "attn_k", TensorKind::kK, index, sources.k, k, spec_.hidden);
      turn(before, attention.kv_heads, attention.key_dim);
      linear(block + "attn_v", TensorKind::kV, index, sources.v, v, spec_.hidden);
    }
    linear(block + "attn_output", TensorKind::kO, index, sources.o, spec_.hidden,
           attention.heads * attention.value_dim);
    // Norms work on whole heads, so their weights follow the rows.
    const bool is_shared = attention.qk_norm == QkNorm::kPerHead;
    size_t norms = found_.size();
    norm(block + "attn_q_norm", index, sources.q_norm, norm_shape(attention, attention.heads));
    turn(norms, is_shared ? 1 : attention.heads, attention.key_dim);
    norms = found_.size();
    norm(block + "attn_k_norm", index, sources.k_norm, norm_shape(attention, attention.kv_heads));
    turn(norms, is_shared ? 1 : attention.kv_heads, attention.key_dim);
  }

  static Shape norm_shape(const AttentionSpec& attention, int64_t heads) {
    switch (attention.qk_norm) {
      case QkNorm::kPerHeadWeights:
        return {width(heads), width(attention.key_dim)};
      case QkNorm::kWhole:
        return {width(heads * attention.key_dim)};
      default:
        return {width(attention.key_dim)};
    }
  }

  void layer(size_t i) {
    const LayerSources& sources = weights_.layers[i];
    const LayerSpec& spec = spec_.layers[i];
    const auto& ffn = std::get<DenseFfnSpec>(spec.ffn);
    const int index = static_cast<int>(i);
    const std::string block = fmt::format("blk.{}.", i);
    const Shape hidden{width(spec_.hidden)};
    // Falcon's files number the norms of its two branches.
    const bool is_numbered = arch_.gguf == "falcon" && sources.ffn_norm.weight.exists();
    norm(block + (is_numbered ? "attn_norm_2" : "attn_norm"), index, sources.mixer_norm, hidden);
    attention(block, index, sources, std::get<AttentionSpec>(spec.mixer));
    norm(block + "post_attention_norm", index, sources.mixer_post_norm, hidden);
    const std::string ffn_norm = is_numbered                ? "attn_norm"
                                 : arch_.gguf == "seed_oss" ? "post_attention_norm"
                                                            : "ffn_norm";
    norm(block + ffn_norm, index, sources.ffn_norm, hidden);
    if (arch_.fuses_gate_up) {
      fuse(block + "ffn_up.weight", TensorKind::kGateUp, index,
           {{&sources.gate.weight, ffn.hidden}, {&sources.up.weight, ffn.hidden}}, spec_.hidden);
    } else {
      linear(block + "ffn_gate", TensorKind::kGate, index, sources.gate, ffn.hidden, spec_.hidden);
      linear(block + "ffn_up", TensorKind::kUp, index, sources.up, ffn.hidden, spec_.hidden);
    }
    linear(block + "ffn_down", TensorKind::kDown, index, sources.down, spec_.hidden, ffn.hidden);
    norm(block + "post_ffw_norm", index, sources.ffn_post_norm, hidden);
  }

  const WeightInput& input_;
  const GgufArch& arch_;
  const ModelSpec& spec_;
  const WeightMap& weights_;
  std::vector<RoleTensor> found_;
};

}  // namespace

std::vector<RoleTensor> role_tensors(const WeightInput& input, const GgufArch& arch) {
  return RoleLister(input, arch).run();
}

}  // namespace ingot
