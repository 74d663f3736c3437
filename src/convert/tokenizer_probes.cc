// SPDX-License-Identifier: Apache-2.0
#include "convert/tokenizer_probes.h"

#include <string_view>

namespace ingot {
namespace {

// Words, numbers, code, scripts and white space of all kinds: where splitting rules differ.
constexpr std::string_view kProbes[] = {
    "Hello world, it's 12 o'clock; WE'LL see, they've said 'no'!",
    "1 12 123 1234 12345 123456 1234567 3.14159 1,000,000 2nd 0x1F",
    "def main(x):\n    if x > 10:\n\t\treturn x ** 2  # square\n\n\n    return None\n",
    "Ünïcödé déjà-vu naïve œuvre ﬁne Größe straße İstanbul",
    "東京は日本の首都です。中国的首都是北京！한국어 텍스트입니다",
    "Привет, мир! Γειά σου Κόσμε. שלום עולם مرحبا بالعالم สวัสดีชาวโลก नमस्ते दुनिया",
    "emoji 😀👍🏽 flags 🇩🇪 math ∑∞≠ arrows → ⇒ €$¥",
    "joined \u200d(\u200d) a\u0301 \ufeffb \u00a0c \u3000d",
    "  leading,   inner    and trailing   ",
    "tabs\tand\r\nwindows\rlines\n\n \n  \n",
    "https://example.com/a_b-c?d=e&f=%20#frag user@mail.org C:\\path\\file.txt",
    "snake_case camelCase HTTPServer2000 ...!!!??? (a)[b]{c}<d> \"quoted\" `code` a/b//c",
    "",
    " ",
    "x",
};

}  // namespace

Result<bool> encodes_alike(const Tokenizer& original, const Tokenizer& other) {
  for (const std::string_view probe : kProbes) {
    for (const bool add_special : {false, true}) {
      INGOT_TRY(const auto wanted, original.encode(probe, {.add_special = add_special}));
      INGOT_TRY(const auto found, other.encode(probe, {.add_special = add_special}));
      if (wanted != found) return false;
    }
  }
  return true;
}

}  // namespace ingot
