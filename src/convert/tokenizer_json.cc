// SPDX-License-Identifier: Apache-2.0
#include "convert/tokenizer_json.h"

#include "base/json_reader.h"
#include "base/limits.h"

namespace ingot {
namespace {

class TableReader {
 public:
  TableReader(std::string_view text, std::string_view source)
      : text_(text), source_(source), reader_(text, std::string(source)) {}

  Result<TokenizerJson> run() {
    INGOT_TRY(reader_.expect(JsonToken::kBeginObject, "tokenizer.json"));
    while (true) {
      INGOT_TRY(const bool has_more, reader_.next_key());
      if (!has_more) break;
      const std::string key(reader_.text());
      if (key == "model") {
        INGOT_TRY(model());
      } else if (key == "added_tokens") {
        INGOT_TRY(added_tokens());
      } else if (key == "normalizer") {
        INGOT_TRY(small(key, out_.normalizer));
      } else if (key == "pre_tokenizer") {
        INGOT_TRY(small(key, out_.pre_tokenizer));
      } else {
        INGOT_TRY(reader_.skip_value());
      }
    }
    return std::move(out_);
  }

 private:
  Status small(const std::string& key, Json& out) {
    const size_t begin = reader_.offset();
    INGOT_TRY(reader_.skip_value());
    INGOT_TRY(out, parse_json(text_.substr(begin, reader_.offset() - begin),
                              fmt::format("{}, '{}'", source_, key)));
    return Status::ok();
  }

  Status put(int64_t id, std::string token) {
    if (id < 0 || id >= limits::kVocab) return reader_.error("an id is out of range");
    const auto index = static_cast<size_t>(id);
    if (index >= out_.tokens.size()) out_.tokens.resize(index + 1);
    out_.tokens[index] = std::move(token);
    return Status::ok();
  }

  Status model() {
    INGOT_TRY(reader_.expect(JsonToken::kBeginObject, "model"));
    while (true) {
      INGOT_TRY(const bool has_more, reader_.next_key());
      if (!has_more) return Status::ok();
      const std::string key(reader_.text());
      if (key == "vocab") {
        INGOT_TRY(vocab());
      } else if (key == "merges") {
        INGOT_TRY(merges());
      } else {
        INGOT_TRY(scalar(key));
      }
    }
  }

  Status scalar(const std::string& key) {
    const size_t depth = reader_.depth();
    INGOT_TRY(const JsonToken token, reader_.next());
    if (token == JsonToken::kString) {
      if (key == "type") out_.type = reader_.text();
      if (key == "unk_token") out_.unk_token = reader_.text();
    } else if (token == JsonToken::kNumber && key == "unk_id") {
      INGOT_TRY(out_.unk_id, reader_.integer());
    } else if (token == JsonToken::kTrue) {
      if (key == "byte_fallback") out_.byte_fallback = true;
      if (key == "ignore_merges") out_.ignore_merges = true;
    }
    while (reader_.depth() > depth)
      INGOT_TRY(reader_.next());
    return Status::ok();
  }

  // {"piece": id} or [["piece", score]]
  Status vocab() {
    INGOT_TRY(const JsonToken first, reader_.next());
    if (first == JsonToken::kBeginObject) {
      while (true) {
        INGOT_TRY(const bool has_more, reader_.next_key());
        if (!has_more) return Status::ok();
        std::string piece(reader_.text());
        INGOT_TRY(const int64_t id, reader_.integer_value("vocab"));
        INGOT_TRY(put(id, std::move(piece)));
      }
    }
    if (first != JsonToken::kBeginArray) return reader_.error("'vocab' has the wrong type");
    while (true) {
      INGOT_TRY(const JsonToken entry, reader_.next());
      if (entry == JsonToken::kEndArray) return Status::ok();
      INGOT_TRY(std::string piece, reader_.string_value("vocab"));
      INGOT_TRY(reader_.expect(JsonToken::kNumber, "vocab"));
      out_.scores.push_back(reader_.number());
      INGOT_TRY(put(static_cast<int64_t>(out_.scores.size()) - 1, std::move(piece)));
      INGOT_TRY(reader_.expect(JsonToken::kEndArray, "vocab"));
    }
  }

  // ["a b"] or [["a", "b"]]
  Status merges() {
    INGOT_TRY(reader_.expect(JsonToken::kBeginArray, "merges"));
    while (true) {
      INGOT_TRY(const JsonToken token, reader_.next());
      if (token == JsonToken::kEndArray) return Status::ok();
      if (token == JsonToken::kString) {
        const std::string_view line = reader_.text();
        const size_t space = line.find(' ');
        if (line.starts_with("#version")) continue;
        if (space == std::string_view::npos) return reader_.error("a merge is not two tokens");
        out_.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
      } else if (token == JsonToken::kBeginArray) {
        INGOT_TRY(std::string left, reader_.string_value("merges"));
        INGOT_TRY(std::string right, reader_.string_value("merges"));
        INGOT_TRY(reader_.expect(JsonToken::kEndArray, "merges"));
        out_.merges.emplace_back(std::move(left), std::move(right));
      } else {
        return reader_.error("an entry of 'merges' has the wrong type");
      }
    }
  }

  Status added_tokens() {
    Json list;
    INGOT_TRY(small("added_tokens", list));
    if (!list.is_array()) return Status::ok();
    for (const Json& entry : list) {
      if (!entry.is_object() || !entry.contains("id") || !entry["id"].is_number_integer() ||
          !entry.contains("content") || !entry["content"].is_string())
        return Status::invalid_data("{}: an added token has no id or content", source_);
      const auto is = [&](const char* key) { return entry.contains(key) && entry[key] == true; };
      out_.added.push_back({entry["id"].get<int64_t>(), entry["content"].get<std::string>(),
                            is("special"), is("lstrip") || is("rstrip") || is("single_word")});
    }
    return Status::ok();
  }

  std::string_view text_;
  std::string_view source_;
  JsonReader reader_;
  TokenizerJson out_;
};

}  // namespace

Result<TokenizerJson> read_tokenizer_tables(std::string_view text, std::string_view source) {
  return TableReader(text, source).run();
}

}  // namespace ingot
