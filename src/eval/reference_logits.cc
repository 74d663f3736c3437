// SPDX-License-Identifier: Apache-2.0
#include "eval/reference_logits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "base/checksum.h"
#include "base/limits.h"
#include "model/logit_row.h"

namespace ingot {
namespace {

constexpr std::string_view kMagic = "INGOTREF";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 88;
constexpr float kCodes = 65535;
// Further below the best than this a token has no chance (e^-40): it is stored as if it were here.
constexpr float kDeepest = 40;

struct Header {
  uint32_t version = kVersion;
  uint32_t vocab = 0;
  uint32_t protocol = 0;
  int32_t bos = -1;  // -1: the windows have none
  int64_t context = 0;
  int64_t stride = 0;
  int64_t max_chunks = -1;
  uint64_t tokens = 0;
  uint64_t tokens_hash = 0;
  uint64_t windows = 0;
  uint64_t rows = 0;
  uint64_t hash = 0;  // of the fields above
};
static_assert(sizeof(Header) + 8 == kHeaderBytes);

uint64_t hash_header(const Header& header) {
  return checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, hash)));
}

Status check_header(const Header& header, const ByteReader& reader) {
  if (header.version != kVersion)
    return reader.error("version", 8,
                        fmt::format("is {}, this build reads {}", header.version, kVersion));
  if (header.hash != hash_header(header))
    return reader.error("header", 0, "does not match its checksum; make the file again");
  if (header.vocab == 0 || header.vocab > static_cast<uint64_t>(limits::kVocab))
    return reader.error("vocabulary", 12, fmt::format("is {}", header.vocab));
  if (header.protocol > static_cast<uint32_t>(Protocol::kWindows))
    return reader.error("protocol", 16, fmt::format("is {}, not one of 0 to 2", header.protocol));
  if (header.bos < -1 || header.bos >= static_cast<int64_t>(header.vocab))
    return reader.error("bos", 20, fmt::format("is {}, outside the vocabulary", header.bos));
  if (header.context < 1 || header.context > limits::kContext)
    return reader.error("context", 24, fmt::format("is {}", header.context));
  return Status::ok();
}

}  // namespace

uint64_t hash_tokens(std::span<const TokenId> tokens) {
  return checksum64(std::as_bytes(tokens));
}

size_t encoded_row_bytes(size_t vocab) {
  return 4 + (2 * vocab + 3) / 4 * 4;
}

std::vector<std::byte> encode_logits(std::span<const float> logits) {
  std::vector<std::byte> bytes(encoded_row_bytes(logits.size()));
  const auto [low, high] = std::ranges::minmax_element(logits);
  const float top = *high;
  const float depth = std::clamp(top - *low, 1e-6F, kDeepest);
  const float step = depth / kCodes;
  const float scale = kCodes / depth;
  std::memcpy(bytes.data(), &step, sizeof step);
  std::vector<uint16_t> codes(logits.size());
  for (size_t i = 0; i < logits.size(); ++i)
    codes[i] =
        static_cast<uint16_t>(static_cast<int>(std::min((top - logits[i]) * scale, kCodes) + 0.5F));
  std::memcpy(bytes.data() + 4, codes.data(), 2 * codes.size());
  return bytes;
}

void decode_logits(std::span<const std::byte> bytes, std::span<float> out) {
  float step = 0;
  std::memcpy(&step, bytes.data(), sizeof step);
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t code = 0;
    std::memcpy(&code, bytes.data() + 4 + 2 * i, sizeof code);
    out[i] = -step * static_cast<float>(code);
  }
}

Result<ReferenceLogits> ReferenceLogits::open(const std::filesystem::path& path) {
  INGOT_TRY(std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  return from_bytes(std::move(file));
}

Result<ReferenceLogits> ReferenceLogits::from_bytes(std::shared_ptr<const MappedFile> file) {
  ByteReader reader(file->bytes(), file->name());
  INGOT_TRY(const std::string_view magic, reader.text(kMagic.size(), "magic"));
  if (magic != kMagic)
    return reader.error("magic", 0,
                        "is not that of saved logits; make them with "
                        "--kl-divergence-base");
  INGOT_TRY(const Header header, reader.read<Header>("header"));
  INGOT_TRY(check_header(header, reader));

  ReferenceLogits saved;
  saved.vocab_ = header.vocab;
  const CheckedSize token_bytes = CheckedSize(header.tokens) * sizeof(TokenId);
  if (!token_bytes.fits(reader.remaining()))
    return reader.error("tokens",
                        fmt::format("there are {}, more than the file holds", header.tokens));
  INGOT_TRY(const std::span<const std::byte> tokens,
            reader.bytes(token_bytes.value_or(0), "tokens"));
  saved.tokens_.resize(header.tokens);
  if (!tokens.empty()) std::memcpy(saved.tokens_.data(), tokens.data(), tokens.size());
  saved.tokens_hash_ = hash_tokens(saved.tokens_);
  if (saved.tokens_hash_ != header.tokens_hash)
    return reader.error("tokens", kHeaderBytes, "do not match their checksum; make the file again");
  for (const TokenId id : saved.tokens_) {
    if (id < 0 || static_cast<uint64_t>(id) >= header.vocab)
      return reader.error(
          "tokens", kHeaderBytes,
          fmt::format("hold id {}, outside the vocabulary of {}", id, header.vocab));
  }

  saved.windows_ = {.protocol = static_cast<Protocol>(header.protocol),
                    .context = header.context,
                    .stride = header.stride,
                    .max_chunks = header.max_chunks,
                    .adds_bos = header.bos >= 0,
                    .bos = header.bos};
  const CheckedSize row_bytes = CheckedSize(header.rows) * encoded_row_bytes(saved.vocab_);
  if (!row_bytes.is_valid() || *row_bytes.value() != reader.remaining()) {
    return reader.error("rows", fmt::format("{} rows do not fill the {} bytes that are left",
                                            header.rows, reader.remaining()));
  }
  Result<ScoredText> text = cut_text(saved.tokens_, saved.windows_);
  if (!text.is_ok()) return text.status().with_context(file->name());
  saved.text_ = *std::move(text);
  if (saved.text_.targets.size() != header.rows || saved.text_.sequences.size() != header.windows) {
    return reader.error("rows", fmt::format("there are {} in {} windows where the tokens make {} "
                                            "in {}",
                                            header.rows, header.windows, saved.text_.targets.size(),
                                            saved.text_.sequences.size()));
  }
  saved.rows_ = static_cast<int64_t>(header.rows);
  INGOT_TRY(saved.row_bytes_, reader.bytes(reader.remaining(), "rows"));
  saved.file_ = std::move(file);
  return saved;
}

void ReferenceLogits::read_row(size_t index, std::span<float> out) const {
  INGOT_CHECK(out.size() == vocab_ && index < static_cast<size_t>(rows_));
  const size_t size = encoded_row_bytes(vocab_);
  decode_logits(row_bytes_.subspan(index * size, size), out);
}

Result<std::vector<float>> write_reference(const std::filesystem::path& path, ScoreModel& model,
                                           ThreadPool& pool, std::span<const TokenId> tokens,
                                           const WindowOptions& windows, const GoesOn& goes_on) {
  INGOT_TRY(const ScoredText text, cut_text(tokens, windows));
  const bool has_bos = windows.adds_bos && windows.bos >= 0;
  Header header;
  header.vocab = static_cast<uint32_t>(model.vocab());
  header.protocol = static_cast<uint32_t>(windows.protocol);
  header.bos = has_bos ? windows.bos : -1;
  header.context = windows.context;
  header.stride = windows.stride;
  header.max_chunks = windows.max_chunks;
  header.tokens = tokens.size();
  header.tokens_hash = hash_tokens(tokens);
  header.windows = text.sequences.size();
  header.rows = text.targets.size();
  header.hash = hash_header(header);
  INGOT_TRY(AtomicFile file, AtomicFile::create(path));
  INGOT_TRY(file.write(kMagic));
  INGOT_TRY(file.write(std::as_bytes(std::span(&header, 1))));
  INGOT_TRY(file.write(std::as_bytes(tokens)));

  // Rows of different windows end in any order; the file has them in the text's.
  std::vector<std::vector<std::byte>> encoded(text.targets.size());
  std::vector<float> nll(text.targets.size());
  std::vector<LogitRow> scratch(static_cast<size_t>(pool.size()),
                                LogitRow(model.model().targets()));
  std::vector<uint8_t> is_bad(scratch.size());
  size_t written = 0;
  Status failure;
  const auto on_row = [&](int thread, const ScoredRow& row,
                          std::span<const std::span<const float>> logits) {
    LogitRow& own = scratch[static_cast<size_t>(thread)];
    const size_t index = text.index_of(row);
    if (!own.start(logits.front())) {
      is_bad[static_cast<size_t>(thread)] = 1;
      return;
    }
    nll[index] = static_cast<float>(-own.logprob(text.targets[index]));
    encoded[index] = encode_logits(logits.front());
  };
  double sum = 0;
  ScoreModel* const models[] = {&model};
  const Status status =
      run_scores(models, pool, text.sequences, on_row, [&](int64_t done, int64_t all) {
        for (; written < encoded.size() && !encoded[written].empty(); ++written) {
          failure = file.write(encoded[written]);
          if (!failure.is_ok()) return false;
          encoded[written] = {};
          sum += static_cast<double>(nll[written]);
        }
        if (std::ranges::find(is_bad, 1) != is_bad.end()) return false;
        return !goes_on ||
               goes_on({.fraction = static_cast<double>(done) / static_cast<double>(all),
                        .perplexity = std::exp(sum / std::max(1.0, static_cast<double>(written)))});
      });
  INGOT_TRY(failure);
  if (std::ranges::find(is_bad, 1) != is_bad.end())
    return Status::internal("the model gave logits that are not finite; nothing was written");
  INGOT_TRY(status);
  INGOT_TRY(file.commit());
  return nll;
}

}  // namespace ingot
