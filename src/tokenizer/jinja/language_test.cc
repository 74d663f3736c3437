// SPDX-License-Identifier: Apache-2.0
// The language, construct by construct, through the public interface. Expectations are Jinja2's
// (tests/jinja_differential.py compares at random; this names what must not break).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "tokenizer/chat_template.h"

namespace ingot {
namespace {

using testing::HasSubstr;

ChatInput test_input() {
  ChatInput input;
  input.messages =
      parse_json(R"([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}])",
                 "messages")
          .value();
  input.kwargs =
      parse_json(R"({"xs": [3, 1, 2], "d": {"b": 1, "a": {"c": "x"}}, "s": "Grüße", "items": [
      {"k": "b", "n": 2}, {"k": "a", "n": 1}, {"k": "B", "n": 3}]})",
                 "kwargs")
          .value();
  input.bos_token = "<s>";
  input.eos_token = "</s>";
  input.now = std::chrono::local_days(std::chrono::year(2024) / 7 / 26) + std::chrono::hours(13) +
              std::chrono::minutes(4) + std::chrono::seconds(9);
  return input;
}

Result<std::string> try_render(const std::string& source) {
  INGOT_TRY(const ChatTemplate parsed, ChatTemplate::parse(source, "t"));
  return parsed.render(test_input());
}

std::string render(const std::string& source) {
  const Result<std::string> text = try_render(source);
  return text.is_ok() ? *text : "ERROR " + text.status().message();
}

TEST(JinjaWhitespace, TrimsAfterBlocksAndStripsBeforeThem) {
  EXPECT_EQ(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a\n  {{ 1 }}\n b"), "a\n  1\n b");
  EXPECT_EQ(render("a {% if true %} b {% endif %} c"), "a  b  c");
}

TEST(JinjaWhitespace, ObeysSignsBesideDelimiters) {
  EXPECT_EQ(render("a \n {%- if true -%} \n b {%- endif %}"), "ab");
  EXPECT_EQ(render("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(render("a {{- 1 -}} b"), "a1b");
  EXPECT_EQ(render("a {#- note -#} b{# c #}\nd"), "abd");
}

TEST(JinjaWhitespace, KeepsRawBlocksAndDropsOneFinalNewline) {
  EXPECT_EQ(render("{% raw %}{{ x }}{% endraw %}"), "{{ x }}");
  EXPECT_EQ(render("{% raw -%}\n {% y %} {%- endraw %}z"), "{% y %}z");
  EXPECT_EQ(render("a\n\n"), "a\n");
  EXPECT_EQ(render("a\r\nb\rc"), "a\nb\nc");
}

TEST(JinjaExpressions, BindAsJinjaDoes) {
  EXPECT_EQ(render("{{ 1 + 2 * 3 ** 2 }}"), "19");
  EXPECT_EQ(render("{{ 2 ** 3 ** 2 }}"), "64");  // to the left, unlike Python
  EXPECT_EQ(render("{{ 'a' ~ 1 + 2 }}"),
            "ERROR t: line 1: can only concatenate str (not \"int\") to str");
  EXPECT_EQ(render("{{ -1|abs }} {{ not 1 == 2 }} {{ 1 if 0 else 2 if 0 else 3 }}"), "1 True 3");
  EXPECT_EQ(render("{{ 'x' is string and 1 is odd }} {{ 1 < 2 < 3 }} {{ 1 in [1] == true }}"),
            "True True False");
  EXPECT_EQ(render("{{ 'a' 'b' \"c\" }} {{ 0x1f }} {{ 1_000 }} {{ 1e3 }} {{ 'q\\u00e9\\x41\\n' }}"),
            "abc 31 1000 1000.0 qéA\n");
  EXPECT_EQ(render("{{ 1, 2 }} {{ () }} {{ (1,) }} {{ {'a': [1]} }}"), "(1, 2) () (1,) {'a': [1]}");
}

TEST(JinjaExpressions, DivideAsPythonDoes) {
  EXPECT_EQ(
      render("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }}"),
      "-4 2 -2 3.5 -4.0 0.5");
  EXPECT_EQ(render("{{ 2 ** -1 }} {{ 7 // 2.0 }}"), "0.5 3.0");
  EXPECT_THAT(render("{{ 1 // 0 }}"), HasSubstr("by zero"));
  EXPECT_THAT(render("{{ 9223372036854775807 + 1 }}"), HasSubstr("64 bits"));
}

TEST(JinjaExpressions, SliceByCodePoints) {
  EXPECT_EQ(render("{{ s[2:4] }} {{ s[::-1] }} {{ s[-2:] }} {{ s|length }} {{ s[2] }}"),
            "üß eßürG ße 5 ü");
  EXPECT_EQ(
      render("{{ xs[1:] }} {{ xs[::-1] }} {{ xs[:-1] }} {{ xs[5:] }} {{ range(10)[2:8:3]|list }}"),
      "[1, 2] [2, 1, 3] [3, 1] [] [2, 5]");
}

TEST(JinjaExpressions, PrintValuesAsPythonDoes) {
  EXPECT_EQ(render("{{ none }} {{ true }} {{ 1.0 }} {{ 1e16 }} {{ 1e-5 }} {{ 0.1 + 0.2 }}"),
            "None True 1.0 1e+16 1e-05 0.30000000000000004");
  EXPECT_EQ(render("{{ [\"it's\", 'say \"x\"', '\\n\\t\\\\', none, 'é'] }}"),
            R"(["it's", 'say "x"', '\n\t\\', None, 'é'])");
  EXPECT_EQ(render("{{ {'a': {'b': (1, 2.5)}} }} {{ d.keys() }} {{ range(3) }}"),
            "{'a': {'b': (1, 2.5)}} dict_keys(['b', 'a']) range(0, 3)");
}

TEST(JinjaUndefined, PrintsNothingAndFailsWhenUsed) {
  EXPECT_EQ(render("[{{ nope }}{{ d.nope }}{{ xs[9] }}]"), "[]");
  EXPECT_EQ(
      render("{{ nope is defined }} {{ nope|default('x') }} {{ nope|length }} {{ nope == nope2 }}"),
      "False x 0 True");
  EXPECT_EQ(render("{% for x in nope %}{{ x }}{% else %}none{% endfor %}"), "none");
  EXPECT_THAT(render("\n\n{{ nope.x }}"), HasSubstr("line 3: 'nope' is undefined"));
  EXPECT_THAT(render("{{ d.nope.x }}"), HasSubstr("'dict object' has no attribute 'nope'"));
  EXPECT_THAT(render("{{ nope + 1 }}"), HasSubstr("'nope' is undefined"));
  EXPECT_THAT(render("{{ nope|tojson }}"), HasSubstr("not JSON serializable"));
}

TEST(JinjaAccess, PrefersAttributesForDotsAndItemsForBrackets) {
  const std::string set = "{% set o = {'items': 'I', 'get': 'G', 'x': 1} %}";
  EXPECT_EQ(render(set + "{{ o['items'] }} {{ o.items() | list | length }} {{ o.x }} {{ o['x'] }} "
                         "{{ o.get('x') }}"),
            "I 3 1 1 1");
  EXPECT_EQ(render("{{ xs.0 }} {{ items[0].k }} {{ d['a']['c'] }}"), "3 b x");
}

TEST(JinjaStatements, LoopsKnowWhereTheyAre) {
  EXPECT_EQ(render("{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ "
                   "loop.first }}{{ loop.last }}{{ loop.length }};{% endfor %}"),
            "103TrueFalse3;212FalseFalse3;321FalseTrue3;");
  EXPECT_EQ(render("{% for x in xs %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}"),
            "<3>1 3<1>2 1<2> ");
  EXPECT_EQ(render("{% for x in xs if x > 1 %}{{ loop.index }}{{ x }}{% endfor %}"), "1322");
  EXPECT_EQ(
      render(
          "{% for k, v in d.items() %}{{ k }}{% endfor %}{% for c in 'aé' %}{{ c }}.{% endfor %}"),
      "baa.é.");
  EXPECT_EQ(
      render("{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{{ loop.cycle('a', 'b') }}{% endfor %}"),
      "TrueaFalsebTruea");
  EXPECT_EQ(render("{% for x in range(9) %}{% if x == 1 %}{% continue %}{% elif x == 4 %}{% break "
                   "%}{% endif %}{{ x }}{% endfor %}"),
            "023");
  EXPECT_EQ(render("{% for x in [[1, [2]], [3]] recursive %}{{ loop.depth }}{{ loop(x) if x is "
                   "iterable else x }}{% endfor %}"),
            "121232123");
}

TEST(JinjaStatements, ScopesEndWithTheirBlocks) {
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{% endfor %}{{ x }}"),
            "111");
  EXPECT_EQ(render("{% if true %}{% set y = 2 %}{% endif %}{{ y }}"), "2");
  EXPECT_EQ(render("{% set ns = namespace(n=0) %}{% for i in xs %}{% set ns.n = ns.n + i %}{% "
                   "endfor %}{{ ns.n }}"),
            "6");
  EXPECT_EQ(render("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}"), "3");
  EXPECT_EQ(
      render("{% set a, b = 1, [2] %}{{ a }}{{ b }}{% set t | upper %}x{{ a }}{% endset %}{{ t }}"),
      "1[2]X1");
  EXPECT_EQ(render("{% generation %}{% set z = 1 %}a{{ z }}{% endgeneration %}{{ z }}"), "a1");
}

TEST(JinjaStatements, MacrosTakeArgumentsAndCallers) {
  EXPECT_EQ(render("{% macro m(a, b=a ~ '!') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(b=2, "
                   "a=3) }} {{ m(1, 2) }}"),
            "11! 32 12");
  EXPECT_EQ(render("{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}"),
            "(1, 2){'x': 3}");
  EXPECT_EQ(render("{% macro m(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) m(4) %}{{ y + 1 }}{% "
                   "endcall %}"),
            "<5>");
  EXPECT_EQ(
      render(
          "{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}"),
      "3210");
  EXPECT_EQ(render("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{'a': 2}) }}"), "12");
  EXPECT_THAT(render("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}"),
              HasSubstr("takes not more than 1"));
  EXPECT_THAT(render("{% macro m(a) %}{% endmacro %}{{ m(z=2) }}"),
              HasSubstr("no keyword argument 'z'"));
}

TEST(JinjaFilters, SortGroupAndSelect) {
  EXPECT_EQ(render("{{ xs|sort }} {{ xs|sort(reverse=true)|join('-') }} {{ "
                   "items|sort(attribute='k')|map(attribute='n')|list }}"),
            "[1, 2, 3] 3-2-1 [1, 2, 3]");
  EXPECT_EQ(
      render("{% for g in items|groupby('k') %}{{ g.grouper }}{{ g.list|length }}{% endfor %}"),
      "a1b2");
  EXPECT_EQ(render("{{ items|selectattr('n', 'gt', 1)|map(attribute='k')|join }} {{ "
                   "xs|reject('odd')|list }} {{ ['a', 'A', 'b']|unique|list }}"),
            "bB [2] ['a', 'b']");
  EXPECT_EQ(render("{{ xs|batch(2, 0)|list }} {{ xs|slice(2)|list }} {{ xs|sum }} {{ xs|max }} {{ "
                   "d|dictsort|length }} {{ xs|first }}"),
            "[[3, 1], [2, 0]] [[3, 1], [2]] 6 3 2 3");
  EXPECT_EQ(render("{{ xs|map('string')|map('upper')|join('+') }} {{ [[1, 2]]|map('first')|list }} "
                   "{{ xs|map('foo')|list }}"),
            "ERROR t: line 1: no filter named 'foo'");
}

TEST(JinjaFilters, ChangeText) {
  EXPECT_EQ(render("{{ ' a '|trim }}{{ 'ab'|upper }}{{ 'hello wORLD'|title }}{{ 'xYz'|capitalize "
                   "}}{{ 'straße'|upper }}"),
            "aABHello WorldXyzSTRASSE");
  EXPECT_EQ(render("{{ 'a\nb\n\nc'|indent(2) }}|{{ 'aXbX'|replace('X', '-', 1) }}|{{ "
                   "'abcdefghijkl'|truncate(5, true, '~') }}"),
            "a\n  b\n\n  c|a-bX|abcd~");
  EXPECT_EQ(render("{{ '%s=%03d %.2f' % ('x', 7, 1.5) }} {{ '%(a)s'|format(a=1) }} {{ "
                   "'{:>4}|{!r}'.format(5, 'q') }}"),
            "x=007 1.50 1    5|'q'");
  EXPECT_EQ(render("{{ '<a>'|e }} {{ '<'|safe + '<' }} {{ '<b>x</b> &amp; y'|striptags }}"),
            "&lt;a&gt; <&lt; x & y");
}

TEST(JinjaFilters, WriteJsonAsTransformersDoes) {
  EXPECT_EQ(render("{{ {'b': [1, 2.0, true, none], 'a': '<é\"\\n>'}|tojson }}"),
            R"({"b": [1, 2.0, true, null], "a": "<é\"\n>"})");
  EXPECT_EQ(render("{{ {'b': 1, 'a': []}|tojson(indent=2, sort_keys=true) }}"),
            "{\n  \"a\": [],\n  \"b\": 1\n}");
  EXPECT_EQ(render("{{ ['é']|tojson(ensure_ascii=true, separators=(',', ':')) }}"),
            R"(["\u00e9"])");
}

TEST(JinjaMethods, OfStringsFollowPython) {
  EXPECT_EQ(render("{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.rsplit(' ', 1) }} "
                   "{{ 'ab'.partition('b') }}"),
            "['a', 'b', '', 'c'] ['a', 'b'] ['a b', 'c'] ('a', 'b', '')");
  EXPECT_EQ(render("{{ 'xxabxx'.strip('x') }} {{ s.find('ß') }} {{ s.startswith(('X', 'Gr')) }} {{ "
                   "'ab'.zfill(4) }} {{ 'a-b'.title() }}"),
            "ab 3 True 00ab A-B");
  EXPECT_EQ(render("{{ '12'.isdigit() }} {{ 'aB'.islower() }} {{ 'abab'.count('ab') }} {{ "
                   "'abc'.removeprefix('a') }} {{ '-'.join(['x', 'y']) }}"),
            "True False 2 bc x-y");
}

TEST(JinjaTime, FollowsTheGivenClock) {
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y|%A|%-d|%e|%I:%M %p|%j|%y|%F %T') }}"),
            "26 Jul 2024|Friday|26|26|01:04 PM|208|24|2024-07-26 13:04:09");
}

TEST(JinjaSandbox, DeniesChangesAndInternals) {
  EXPECT_THAT(render("{{ xs.append(1) }}"), HasSubstr("unsafe"));
  EXPECT_THAT(render("{{ d.update({}) }}"), HasSubstr("unsafe"));
  EXPECT_THAT(render("{{ ''.__class__.__mro__ }}"), HasSubstr("unsafe"));
  EXPECT_THAT(render("{{ xs.nothing() }}"), HasSubstr("no attribute 'nothing'"));
  EXPECT_THAT(render("{{ 'x'|nothing }}"), HasSubstr("no filter named"));
  EXPECT_THAT(render("{{ 'x'.encode() }}"), HasSubstr("not supported"));
  EXPECT_THAT(render("{{ lipsum() }}"), HasSubstr("not supported"));
  for (const std::string tag :
       {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'", "block b", "do 1"}) {
    EXPECT_THAT(render("{% " + tag + " %}"), HasSubstr("not supported in chat templates")) << tag;
  }
}

TEST(JinjaParser, NamesTheLineOfAMistake) {
  EXPECT_THAT(render("\n{% if %}"), HasSubstr("t: line 2:"));
  EXPECT_THAT(render("\n\n{{ 1 + }}"), HasSubstr("line 3"));
  EXPECT_THAT(render("{% for x in y %}"), HasSubstr("endfor"));
  EXPECT_THAT(render("{{ 'abc }}"), HasSubstr("no end"));
  EXPECT_THAT(render("{{ (1] }}"), HasSubstr("unexpected ']'"));
  EXPECT_THAT(render("{% break %}"), HasSubstr("outside a loop"));
  EXPECT_THAT(render("{% nonsense %}"), HasSubstr("unknown tag"));
}

TEST(JinjaParser, TakesLongChainsForNoNesting) {
  std::string sum = "1";
  std::string alternatives = "0";
  std::string branches = "{% if false %}";
  for (int i = 0; i < 2000; ++i) {
    sum += " + 1";
    alternatives += " or 0";
    branches += "{% elif false %}";
  }
  EXPECT_EQ(render("{{ " + sum + " }}"), "2001");
  EXPECT_EQ(render("{{ " + alternatives + " or 7 }}"), "7");
  EXPECT_EQ(render(branches + "{% else %}x{% endif %}"), "x");
}

}  // namespace
}  // namespace ingot
