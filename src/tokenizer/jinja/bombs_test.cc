// SPDX-License-Identifier: Apache-2.0
// Templates made to hurt: each must end in an error, by fuel, memory, depth or output, never by
// patience. They run on a thread with 256 KiB of stack (1 MiB under a sanitizer, whose frames are
// several times larger).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kBombStackBytes = 2 << 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr size_t kBombStackBytes = 2 << 20;
#else
constexpr size_t kBombStackBytes = 256 << 10;
#endif
#else
constexpr size_t kBombStackBytes = 256 << 10;
#endif

void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kBombStackBytes), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  ASSERT_EQ(
      pthread_create(&thread, &attributes, run, const_cast<void*>(static_cast<const void*>(&work))),
      0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

std::string repeated(const std::string& unit, size_t times) {
  std::string result;
  result.reserve(unit.size() * times);
  for (size_t i = 0; i < times; ++i)
    result += unit;
  return result;
}

struct Bomb {
  const char* name;
  std::string source;
};

// Each sets x ten times to what doubles it.
std::string doubling(const std::string& seed, const std::string& doubled) {
  return "{% set ns = namespace(x=" + seed +
         ") %}{% for i in range(64) %}{% set ns.x = " + doubled + " %}{% endfor %}{{ ns.x }}";
}

std::vector<Bomb> bombs() {
  const std::string forever = "{% for i in range(100000) %}{% for j in range(100000) %}";
  return {
      {"range too large", "{{ range(10**9)|list }}"},
      {"range of all integers", "{{ range(-9223372036854775807, 9223372036854775807)|length }}"},
      {"nested loops", forever + "{% endfor %}{% endfor %}"},
      {"nested loops that print", forever + "x{% endfor %}{% endfor %}"},
      {"loop that prints much",
       "{% set t = 'x' * 100000 %}{% for i in range(100000) %}{{ t }}{% endfor %}"},
      {"recursive macro", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"},
      {"macros calling each other",
       "{% macro f(n) %}{{ g(n) }}{% endmacro %}{% macro g(n) %}{% if n %}{{ f(n + 1) }}{% endif "
       "%}{% endmacro %}{{ f(1) }}"},
      {"macro that forks",
       "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(30) "
       "}}"},
      {"macro with itself as default", "{% macro f(a=f()) %}{{ a }}{% endmacro %}{{ f() }}"},
      {"recursive loop", "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
      {"caller that calls", "{% macro m() %}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}"},
      {"string doubling by +", doubling("'ab'", "ns.x + ns.x")},
      {"string doubling by ~", doubling("'ab'", "ns.x ~ ns.x")},
      {"string doubling by join", doubling("'ab'", "[ns.x, ns.x]|join")},
      {"string doubling by replace", doubling("'aa'", "ns.x|replace('a', 'aa')")},
      {"string doubling by format", doubling("'ab'", "'%s%s' % (ns.x, ns.x)")},
      {"string doubling by braces", doubling("'ab'", "'{0}{0}'.format(ns.x)")},
      {"list doubling", doubling("[1]", "ns.x + ns.x")},
      {"list that holds itself twice, printed", doubling("[1]", "[ns.x, ns.x]")},
      {"list that holds itself twice, as JSON",
       "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] %}{% "
       "endfor %}{{ ns.x|tojson }}"},
      {"shared lists compared",
       "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] "
       "%}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}"},
      {"deep list printed",
       "{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor "
       "%}{{ ns.x }}"},
      {"deep list compared",
       "{% set ns = namespace(x=[], y=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% "
       "set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}"},
      {"deep recursion over a deep list",
       "{% set ns = namespace(x=[]) %}{% for i in range(98) %}{% set ns.x = [ns.x] %}{% endfor %}"
       "{% macro f() %}{{ ns.x|tojson }}{{ ns.x }}{{ ns.x == ns.x[:] }}{{ f() }}{% endmacro %}{{ "
       "f() }}"},
      {"namespace in itself printed", "{% set ns = namespace(x=1) %}{% set ns.x = [ns] %}{{ ns }}"},
      {"string times a billion", "{{ 'x' * 1000000000 }}"},
      {"list times a billion", "{{ [1, 2] * 4611686018427387904 }}"},
      {"wide padding", "{{ 'x'.center(10**9) }}"},
      {"wide format", "{{ '%2000000000d' % 1 }}"},
      {"wide braces", "{{ '{:>2000000000}'.format(1) }}"},
      {"indent of a billion", "{{ 'a\nb'|indent(10**9) }}"},
      {"power", "{{ 10 ** 10 ** 10 }}"},
      {"batch filled without end", "{{ [1]|batch(10**12, 0)|list }}"},
      {"slices without end", "{{ [1]|slice(10**12)|list }}"},
      {"parentheses", "{{ " + repeated("(", 100'000) + "1" + repeated(")", 100'000) + " }}"},
      {"parentheses, open", "{{ " + repeated("(", 200'000)},
      {"brackets", "{{ " + repeated("[", 150) + repeated("]", 150) + " }}"},
      {"negations", "{{ " + repeated("not ", 60'000) + "1 }}"},
      {"signs", "{{ " + repeated("-", 100'000) + "1 }}"},
      {"subscripts", "{{ " + repeated("a[", 100'000) + " }}"},
      {"blocks", repeated("{% if 1 %}", 20'000)},
      {"loops in loops", repeated("{% for i in range(2) %}", 70)},
      {"calls in arguments", "{% macro f(x) %}{{ x }}{% endmacro %}{{ " + repeated("f(", 90) + "1" +
                                 repeated(")", 90) + " }}"},
      {"map of map", "{{ [[1]]|map(" + repeated("'map', ", 2000) + "'upper')|list }}"},
      {"reverse search",
       "{% set t = 'a' * 300000 %}{% set u = 'b' ~ 'a' * 150000 %}{% for i in range(1000) %}{{ "
       "t.rfind(u) }}{% endfor %}"},
      {"sorting",
       "{% for i in range(1000) %}{% set x = range(100000)|sort(reverse=true) %}{% endfor %}"},
      {"splitting",
       "{% set t = 'a ' * 1000000 %}{% for i in range(1000) %}{% set x = t.split() %}{% endfor %}"},
      {"too long a source", repeated("x", 300 << 10)},
      {"too many parts", repeated("{{1}}", 50'000)},
      {"values without end",
       "{% for i in range(100000) %}{% for c in 'abcdefgh' %}{% set x = [i, c] %}{% set y = "
       "dict(a=x) %}{% endfor %}{% endfor %}"},
  };
}

TEST(JinjaBombs, EachEndsInAnErrorOnASmallStack) {
  const std::vector<Bomb> all = bombs();
  ASSERT_GE(all.size(), 30U);
  on_small_stack([&] {
    for (const Bomb& bomb : all) {
      const Result<ChatTemplate> parsed = ChatTemplate::parse(bomb.source, "bomb");
      const Status status = parsed.is_ok() ? parsed->render(ChatInput{}).status() : parsed.status();
      EXPECT_FALSE(status.is_ok()) << bomb.name;
      EXPECT_THAT(status.code(),
                  testing::AnyOf(StatusCode::kResourceExhausted, StatusCode::kInvalidData))
          << bomb.name;
    }
  });
}

TEST(JinjaBombs, NestingUpToTheLimitRendersOnASmallStack) {
  const std::string open = repeated("{% for i in [1] %}", 30);
  const std::string close = repeated("{% endfor %}", 30);
  const std::string value = repeated("(1 + (", 15) + "1" + repeated("))", 15);
  on_small_stack([&] {
    const Result<ChatTemplate> parsed =
        ChatTemplate::parse(open + "{{ " + value + " }}" + close, "deep");
    ASSERT_TRUE(parsed.is_ok()) << parsed.status().message();
    const Result<std::string> text = parsed->render(ChatInput{});
    ASSERT_TRUE(text.is_ok()) << text.status().message();
    EXPECT_EQ(*text, "16");
  });
}

}  // namespace
}  // namespace ingot
