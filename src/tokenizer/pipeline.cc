// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"

namespace ingot::tok {

Result<std::vector<TokenId>> Pipeline::encode(std::string_view text,
                                              const EncodeOptions& options) const {
  TokenSink sink;
  INGOT_TRY(encode_into(text, options, sink));
  return std::move(sink.ids);
}

Result<Encoding> Pipeline::encode_with_pieces(std::string_view text,
                                              const EncodeOptions& options) const {
  TokenSink sink;
  sink.wants_surfaces = true;
  INGOT_TRY(encode_into(text, options, sink));
  Encoding encoding;
  encoding.pieces.reserve(sink.ids.size());
  for (const TokenId id : sink.ids)
    encoding.pieces.emplace_back(piece(id));
  for (auto& [index, surface] : sink.surfaces)
    encoding.pieces[index] = std::move(surface);
  encoding.ids = std::move(sink.ids);
  return encoding;
}

Result<PairEncoding> Pipeline::encode_pair(std::string_view first, std::string_view second,
                                           const EncodeOptions& options) const {
  TokenSink sinks[2];
  INGOT_TRY(encode_text(first, options, sinks[0]));
  INGOT_TRY(encode_text(second, options, sinks[1]));
  return apply_pair_templates(parts_.templates, options.add_special, std::move(sinks[0].ids),
                              std::move(sinks[1].ids));
}

namespace {

Status check_size(std::string_view text) {
  if (text.size() <= limits::kEncodedTextBytes) return Status::ok();
  return Status::resource_exhausted(
      "a text of {} bytes is too long to encode; at most {} are allowed", text.size(),
      limits::kEncodedTextBytes);
}

}  // namespace

Status Pipeline::encode_into(std::string_view text, const EncodeOptions& options,
                             TokenSink& out) const {
  INGOT_TRY(encode_text(text, options, out));
  apply_templates(parts_.templates, options.add_special, out);
  return Status::ok();
}

Status Pipeline::encode_text(std::string_view text, const EncodeOptions& options,
                             TokenSink& out) const {
  INGOT_TRY(check_size(text));
  std::string repaired;
  if (!utf8::is_valid(text)) {
    repaired = utf8::replace_invalid(text);
    text = repaired;
  }
  for (const Segment& segment : parts_.added.split_raw(text, options.parse_special)) {
    const std::string_view part = text.substr(segment.begin, segment.end - segment.begin);
    if (segment.id >= 0) {
      out.add(segment.id, part);
    } else {
      INGOT_TRY(encode_raw(part, segment.begin == 0, options.parse_special, out));
    }
  }
  return Status::ok();
}

Status Pipeline::encode_raw(std::string_view text, bool is_at_start, bool parse_special,
                            TokenSink& out) const {
  NormalizedText value{std::string(text), is_at_start};
  for (const NormalizerPtr& normalizer : parts_.normalizers) {
    INGOT_TRY(normalizer->apply(value));
    INGOT_TRY(check_size(value.text));
  }
  const std::vector<Segment> segments = parts_.added.split_normalized(value.text, parse_special);
  if (segments.size() == 1 && segments[0].id < 0) {
    return encode_normalized(std::move(value.text), value.start_bytes, out);
  }
  for (const Segment& segment : segments) {
    const std::string_view part =
        std::string_view(value.text).substr(segment.begin, segment.end - segment.begin);
    if (segment.id >= 0) {
      out.add(segment.id, part);
    } else {
      const size_t start_bytes = value.start_bytes - std::min(segment.begin, value.start_bytes);
      INGOT_TRY(encode_normalized(std::string(part), start_bytes, out));
    }
  }
  return Status::ok();
}

Status Pipeline::encode_normalized(std::string text, size_t start_bytes, TokenSink& out) const {
  PieceList list(std::move(text), start_bytes);
  for (const PreTokenizerPtr& pre_tokenizer : parts_.pre_tokenizers)
    INGOT_TRY(pre_tokenizer->apply(list));
  for (const Piece& piece : list.pieces)
    INGOT_TRY(parts_.model->encode(list.view(piece), out));
  return Status::ok();
}

std::string_view Pipeline::piece(TokenId id) const {
  const std::string* added = parts_.added.content(id);
  return added != nullptr ? std::string_view(*added) : parts_.vocabulary->piece(id);
}

std::optional<TokenId> Pipeline::id_of(std::string_view piece) const {
  const std::optional<TokenId> added = parts_.added.find(piece);
  return added ? added : parts_.vocabulary->find(piece);
}

namespace {

// The end of the chain: collects the text.
class TextStage : public DecodeStage {
 public:
  void begin_token() override {}
  void text(std::string_view part) override { text_ += part; }
  void end_token() override {}
  void finish() override {}
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

}  // namespace

class Pipeline::Stream : public DecodeStream {
 public:
  Stream(const PipelineParts& parts, bool skip_special, DecodeMode mode)
      : parts_(&parts), skip_special_(skip_special) {
    first_ = &end_;
    for (size_t i = parts.decoders.size(); i-- > 0;) {
      stages_.push_back(parts.decoders[i]->start(*first_, mode));
      first_ = stages_.back().get();
    }
  }

  std::string push(TokenId id) override {
    add(id);
    return end_.take();
  }
  std::string finish() override {
    first_->finish();
    return end_.take();
  }
  void add(TokenId id) {
    const std::string* form = parts_->added.decoded_form(id);
    if (form == nullptr && !parts_->vocabulary->has(id)) return;
    if (skip_special_ && parts_->added.is_skipped(id)) return;
    first_->begin_token();
    first_->text(form != nullptr ? std::string_view(*form) : parts_->vocabulary->piece(id));
    first_->end_token();
  }

 private:
  const PipelineParts* parts_;
  bool skip_special_;
  TextStage end_;
  std::vector<std::unique_ptr<DecodeStage>> stages_;  // last one first
  DecodeStage* first_;
};

std::string Pipeline::decode(std::span<const TokenId> ids, bool skip_special) const {
  Stream stream(parts_, skip_special, DecodeMode::kWhole);
  for (const TokenId id : ids)
    stream.add(id);
  return stream.finish();
}

std::unique_ptr<DecodeStream> Pipeline::decode_stream(bool skip_special) const {
  return std::make_unique<Stream>(parts_, skip_special, DecodeMode::kStream);
}

}  // namespace ingot::tok
