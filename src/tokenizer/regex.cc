// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/regex.h"

#include <array>
#include <optional>

#include "base/limits.h"
#include "base/utf8.h"
#include "tokenizer/oniguruma.h"

#define PCRE2_CODE_UNIT_WIDTH 8  // NOLINT(readability-identifier-naming): the library's own switch
#define PCRE2_STATIC             // NOLINT(readability-identifier-naming): same
#include <pcre2.h>

namespace ingot::tok {

namespace {

constexpr size_t kJitStackStart = 64 * limits::kKiB;
constexpr size_t kJitStackMax = 64 * limits::kMiB;
constexpr uint32_t kHeapLimitKiB = 64 * 1024;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};

}  // namespace

struct Regex::Code {
  std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code;
  std::string pattern;  // as in the file, for errors
  bool has_jit = false;
};

Result<Regex> Regex::compile(std::string_view pattern, std::string_view source) {
  if (pattern.size() > limits::kPatternBytes) {
    return Status::resource_exhausted(
        "{}: a regular expression of {} bytes; at most {} are allowed", source, pattern.size(),
        limits::kPatternBytes);
  }
  if (!utf8::is_valid(pattern)) {
    return Status::invalid_data("{}: a regular expression is not valid UTF-8", source);
  }
  Result<std::string> translated = pcre_from_oniguruma(pattern);
  if (!translated) return translated.status().with_context(source);

  const std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>> context(
      pcre2_compile_context_create(nullptr));
  if (context == nullptr) return Status::resource_exhausted("{}: out of memory", source);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), 512);
  int problem = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->data()),
                                 translated->size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                                 &problem, &offset, context.get()));
  if (code->code == nullptr) {
    return Status::unsupported("{}: the regular expression '{}' does not compile: {}", source,
                               pattern, message_of(problem));
  }
  code->pattern = pattern;
  code->has_jit = pcre2_jit_compile(code->code.get(), PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(code));
}

namespace {

// What one find_all() needs. The larger stack is made only for patterns that ask for it.
class Matcher {
 public:
  Matcher(const pcre2_code* code, std::string_view text)
      : code_(code),
        text_(text),
        data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    if (context_ == nullptr) return;
    pcre2_set_match_limit(context_.get(), limits::kRegexMatchLimit);
    pcre2_set_depth_limit(context_.get(), limits::kRegexDepthLimit);
    pcre2_set_heap_limit(context_.get(), kHeapLimitKiB);
  }

  // 1 with begin() and end() set, 0 when nothing matches from `start` on, or a negative error.
  int match(size_t start) {
    if (data_ == nullptr || context_ == nullptr) return PCRE2_ERROR_NOMEMORY;
    int count = run(start);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT && stack_ == nullptr) {
      stack_.reset(pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr));
      if (stack_ == nullptr) return PCRE2_ERROR_NOMEMORY;
      pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
      count = run(start);
    }
    if (count == PCRE2_ERROR_NOMATCH) return 0;
    return count < 0 ? count : 1;
  }
  size_t begin() const { return pcre2_get_ovector_pointer(data_.get())[0]; }
  size_t end() const { return pcre2_get_ovector_pointer(data_.get())[1]; }

 private:
  int run(size_t start) {
    // The first call checks that the text is UTF-8; the later ones need not.
    const int count =
        pcre2_match(code_, reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(), start,
                    is_checked_ ? PCRE2_NO_UTF_CHECK : 0U, data_.get(), context_.get());
    is_checked_ = true;
    return count;
  }

  const pcre2_code* code_;
  std::string_view text_;
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> data_;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context_;
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack_;
  bool is_checked_ = false;
};

}  // namespace

Status Regex::find_all(std::string_view text, std::vector<Span>& spans) const {
  SpanList list(text, spans);
  if (text.empty()) {
    list.finish();
    return Status::ok();
  }
  Matcher matcher(code_->code.get(), text);
  size_t start = 0;
  std::optional<size_t> last_end;
  while (start <= text.size()) {
    const int found = matcher.match(start);
    if (found == 0) break;
    if (found < 0) {
      return Status::resource_exhausted("the tokenizer's pattern '{}' gave up on this text: {}",
                                        code_->pattern, message_of(found));
    }
    const size_t begin = matcher.begin();
    const size_t end = matcher.end();
    if (begin == end && last_end == end) {
      // An empty match right behind the last one is no progress: look one character further.
      start += start < text.size() ? utf8::decode(text.substr(start)).size : 1U;
      continue;
    }
    list.match(begin, end);
    start = end;
    last_end = end;
  }
  list.finish();
  return Status::ok();
}

}  // namespace ingot::tok
