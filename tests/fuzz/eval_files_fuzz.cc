// SPDX-License-Identifier: Apache-2.0
// Any bytes as saved logits, as a table, as an answer and as a response to check: refused or read,
// never past their end.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "eval/answer.h"
#include "eval/instruction.h"
#include "eval/reference_logits.h"
#include "eval/tasks/task_file.h"

namespace {

void try_logits(std::span<const std::byte> bytes) {
  const auto saved =
      ingot::ReferenceLogits::from_bytes(ingot::MappedFile::from_memory(bytes, "fuzz"));
  if (!saved.is_ok()) return;
  std::vector<float> row(saved->vocab());
  for (size_t i = 0; i < static_cast<size_t>(saved->rows()); ++i)
    saved->read_row(i, row);
}

// Once more with both checksums made right, or nothing behind them is ever reached.
void try_sealed_logits(std::span<const std::byte> bytes) {
  constexpr size_t kHeader = 88;
  if (bytes.size() < kHeader) return;
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  uint64_t tokens = 0;
  std::memcpy(&tokens, sealed.data() + 48, sizeof tokens);
  if (tokens <= (sealed.size() - kHeader) / 4) {
    const uint64_t hash = ingot::checksum64(std::span(sealed).subspan(kHeader, 4 * tokens));
    std::memcpy(sealed.data() + 56, &hash, sizeof hash);
  }
  const uint64_t hash = ingot::checksum64(std::span(sealed).subspan(8, 72));
  std::memcpy(sealed.data() + 80, &hash, sizeof hash);
  try_logits(sealed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_logits(bytes);
  try_sealed_logits(bytes);
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto table = ingot::parse_csv(text, "fuzz");
  if (table.is_ok()) {
    for (const auto& row : table->rows)
      INGOT_CHECK(row.size() == table->names.size());
  }
  ingot::last_number(text);
  ingot::number_after_marks(text);
  for (int kind = 0; kind <= static_cast<int>(ingot::InstructionKind::kQuotation); ++kind) {
    ingot::Instruction instruction;
    instruction.kind = static_cast<ingot::InstructionKind>(kind);
    instruction.text = text.substr(0, size % 5);
    instruction.words = {instruction.text, "a"};
    instruction.count = 2;
    instruction.nth = 1;
    ingot::is_followed_loosely(instruction, text);
  }
  return 0;
}
