// The template interpreter where jinja2 cannot be the measure: the sentences of its errors, what it refuses
// on purpose, and its limits. What it renders is compared with jinja2 in jinja_reference_test.py.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "text/jinja/interpreter.hpp"
#include "text/jinja/json.hpp"

namespace redline::text::jinja {
namespace {

const Mapping& variables() {
  static const Value value = parse_json(
      R"({"n": 7, "s": "text", "xs": [3, 1, 2], "d": {"a": 1, "items": 2}, "big": 123456789012345678901,
          "below": -123456789012345678901})");
  return value.as_mapping();
}

std::string render(std::string_view source, const RenderOptions& options = {}) {
  return Template(source, "t").render(variables(), options);
}

struct Failure {
  std::string_view source;
  std::string_view message;
};

void expect_failures(const std::vector<Failure>& failures, ErrorKind kind) {
  for (const auto& [source, message] : failures) {
    try {
      const std::string out = render(source);
      ADD_FAILURE() << source << " gives " << out;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), message) << source;
      EXPECT_EQ(name_of(error.kind()), name_of(kind)) << source;
    }
  }
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(JinjaLoad, UnknownThingsAreNamed) {
  expect_failures(
      {
          {"a\n{{ x|nope }}", "t, line 2: filter 'nope' is not known"},
          {"{{ x|a.b }}", "t, line 1: filter 'a.b' is not known"},
          {"{% filter nope %}{% endfilter %}", "t, line 1: filter 'nope' is not known"},
          {"{% set x | nope %}{% endset %}", "t, line 1: filter 'nope' is not known"},
          {"{{ x|map('nope') }}", "t, line 1: filter 'nope' is not known"},
          {"{{ x is\n\n nope }}", "t, line 1: test 'nope' is not known"},
          {"{{ x|selectattr('a', 'nope') }}", "t, line 1: test 'nope' is not known"},
          {"\n\n{{ f(1) }}", "t, line 3: function 'f' is not known"},
          {"{{ x.encode() }}", "t, line 1: method '.encode()' is not known"},
          {"{{ x|upper(1) }}", "t, line 1: filter 'upper' takes at most 0 arguments, not 1"},
          {"{{ x|join(sep='') }}", "t, line 1: filter 'join' has no argument 'sep'"},
          {"{{ x is divisibleby }}", "t, line 1: test 'divisibleby' takes 1 arguments, not 0"},
      },
      ErrorKind::Unsupported);
}

TEST(JinjaLoad, WhatIsLeftOutOnPurposeIsRefused) {
  expect_failures(
      {
          {"{% block a %}{% endblock %}", "t, line 1: statement 'block' is not supported"},
          {"{% extends 'x' %}", "t, line 1: statement 'extends' is not supported"},
          {"{% include 'x' %}", "t, line 1: statement 'include' is not supported"},
          {"{% import 'x' as y %}", "t, line 1: statement 'import' is not supported"},
          {"{% from 'x' import y %}", "t, line 1: statement 'from' is not supported"},
          {"{% do x %}", "t, line 1: statement 'do' is not supported"},
          {"{% autoescape true %}{% endautoescape %}", "t, line 1: statement 'autoescape' is not supported"},
          {"{% for x in xs recursive %}{% endfor %}", "t, line 1: a recursive 'for' is not supported"},
          {"{% for x in xs %}\n{{ loop(x) }}{% endfor %}",
           "t, line 2: calling loop() (a recursive 'for') is not supported"},
          {"{{ self }}", "t, line 1: 'self' is not supported: templates cannot have blocks"},
          {"{{ xs[1:2, 3:4] }}", "t, line 1: several slices in one pair of brackets are not supported"},
          {"{{ 9223372036854775808 }}", "t, line 1: the integer 9223372036854775808 does not fit 64 bits"},
      },
      ErrorKind::Unsupported);
  EXPECT_EQ(render("{% set self = 1 %}{{ self }}"), "1");  // a variable like any other
}

TEST(JinjaLoad, SyntaxErrorsNameLineAndPlace) {
  expect_failures(
      {
          {"\n{{ x", "t, line 2: {{ without its end }}"},
          {"{% if x", "t, line 1: {% without its end %}"},
          {"a\n\n{# x", "t, line 3: comment without its end #}"},
          {"{% raw %} x", "t, line 1: {% raw %} without {% endraw %}"},
          {"{{ 'x }}", "t, line 1: string without its closing '"},
          {"\n{% for x in xs %}\n",
           "t, line 2: the template ends where 'endfor' or 'else' is expected for 'for' of line 2"},
          {"{% if n %}\na\n{% else %}\nb",
           "t, line 4: the template ends where 'endif' is expected for 'if' of line 1"},
          {"{% macro m() %}",
           "t, line 1: the template ends where 'endmacro' is expected for 'macro' of line 1"},
          {"{% if n %}{% endfor %}", "t, line 1: unknown statement 'endfor' inside 'if' of line 1"},
          {"{% if n %}\n{% nope %}{% endif %}", "t, line 2: unknown statement 'nope' inside 'if' of line 1"},
          {"{% nope %}", "t, line 1: unknown statement 'nope'"},
          {"{% endif %}", "t, line 1: unknown statement 'endif'"},
          {"{% 1 %}", "t, line 1: a statement begins with its name, found '1'"},
          {"{% break %}", "t, line 1: 'break' outside of a loop"},
          {"{% for x in xs %}{% macro m() %}{% continue %}{% endmacro %}{% endfor %}",
           "t, line 1: 'continue' outside of a loop"},
          {"{{ (n }}", "t, line 1: unexpected '}', expected ')'"},
          {"{{ [n) }}", "t, line 1: unexpected ')', expected ']'"},
          {"{{ n) }}", "t, line 1: unexpected ')'"},
          {"{{ n ? 1 }}", "t, line 1: unexpected character '?' inside a tag"},
          {"{{ é }}", "t, line 1: unexpected character 'é' inside a tag"},
          {"{{ }}", "t, line 1: expected an expression, found '}}'"},
          {"{{ 1 +\n }}", "t, line 2: expected an expression, found '}}'"},
          {"{{ n s }}", "t, line 1: expected '}}', found 's'"},
          {"{{ n 'x' }}", "t, line 1: expected '}}', found a string"},
          {"{{ n. }}", "t, line 1: expected a name or number after '.', found '}}'"},
          {"{{ range(a=1, 2) }}", "t, line 1: arguments in the wrong order"},
          {"{{ dict(a=1, a=2) }}", "t, line 1: argument 'a' is given twice"},
          {"{{ 'a\\x4' }}", "t, line 1: string escape with fewer than 2 hexadecimal digits"},
          {"{{ '\\ud800' }}", "t, line 1: string escape for U+D800, which is not a character"},
          {"{{ '\\N{DASH}' }}", "t, line 1: string escape \\N{…} is not supported"},
          {"{{ 012 }}", "t, line 1: '012': an integer does not begin with 0"},
          {"{{ 0x }}", "t, line 1: '0x' is not a number"},
          {"{% set true = 1 %}", "t, line 1: cannot assign to 'true'"},
          {"{% set 1 = 1 %}", "t, line 1: expected a name, found '1'"},
          {"{% for x xs %}{% endfor %}", "t, line 1: expected 'in', found 'xs'"},
          {"{% macro m(a=1, b) %}{% endmacro %}",
           "t, line 1: parameter 'b' without a default follows one with a default"},
          {"{% call n %}{% endcall %}", "t, line 1: 'call' needs a call, as in {% call macro() %}"},
          {"{% with a %}{% endwith %}", "t, line 1: expected '=', found '%}'"},
          {"{{ n is defined is defined }}", "t, line 1: tests with 'is' cannot be chained"},
          {"a\xFF", "t: byte 1 is not valid UTF-8"},
      },
      ErrorKind::BadCheckpoint);
}

TEST(JinjaRender, FailuresNameTheLineOfTheExpression) {
  expect_failures(
      {
          {"a\n\n{{ missing.a }}", "t, line 3: 'missing' is undefined"},
          {"{{ d.b.c }}", "t, line 1: 'dict object' has no attribute 'b'"},
          {"{{ xs[9].a }}", "t, line 1: list object has no element 9"},
          {"{% if n %}\n{{ 1 +\n 'a' }}{% endif %}",
           "t, line 2: unsupported operand types for +: 'int' and 'str'"},
          {"{{ 1 / 0 }}", "t, line 1: division by zero"},
          {"{{ 1 < 'a' }}", "t, line 1: 'int' and 'str' have no order"},
          {"{{ n|length }}", "t, line 1: object of type 'int' has no length"},
          {"{% for x in n %}{% endfor %}", "t, line 1: 'int' object is not iterable"},
          {"{{ {[]: 1} }}", "t, line 1: a value of type list cannot be the key of a mapping"},
          {"{{ n[1:] }}", "t, line 1: 'int' object cannot be sliced"},
          {"{{ d.update({}) }}", "t, line 1: access to attribute 'update' of 'dict' object is unsafe."},
          {"{{ xs.append(1) }}", "t, line 1: access to attribute 'append' of 'list' object is unsafe."},
          {"{% set d.x = 1 %}", "t, line 1: cannot assign to an attribute of 'd', which is not a namespace"},
          {"{% set a, b = xs %}", "t, line 1: 3 values cannot be assigned to 2 names"},
          {"{% macro m(a) %}{% endmacro %}\n{{ m(1, 2) }}",
           "t, line 2: macro 'm' takes not more than 1 argument(s)"},
          {"{{ xs|map(s)|list }}", "t, line 1: map: there is no filter 'text'"},
          {"{{ '%d' % 'a' }}", "t, line 1: %d needs a number, not a value of type str"},
          {"{{ '{:>5}'.format(1) }}", "t, line 1: format specification ':>5' in .format() is not supported"},
          {"{{ range|tojson }}", "t, line 1: a value of type function cannot be written as JSON"},
          {"{{ strftime_now('%d') }}", "t, line 1: strftime_now: the time was not given to this rendering"},
      },
      ErrorKind::BadInput);
}

TEST(JinjaRender, TheTemplatesOwnSentenceStaysAsItIs) {
  expect_failures({{"\n{{ raise_exception('Say: ' ~ n) }}", "Say: 7"},
                   {"{% for x in xs if raise_exception('in {a} filter') %}{% endfor %}", "in {a} filter"},
                   {"{% macro m() %}{{ raise_exception('') }}{% endmacro %}{{ m() }}", ""}},
                  ErrorKind::BadInput);
}

TEST(JinjaRender, IntegersHave64Bits) {
  expect_failures({{"{{ 9223372036854775807 + 1 }}", "t, line 1: an integer does not fit 64 bits"},
                   {"{{ 2 ** 64 }}", "t, line 1: an integer does not fit 64 bits"},
                   {"{{ big + 1 }}", "t, line 1: an integer does not fit 64 bits"},
                   {"{{ '99999999999999999999'|int }}", "t, line 1: an integer does not fit 64 bits"},
                   {"{{ xs[:big] }}", "t, line 1: a slice index does not fit 64 bits"},
                   {"{{ '%d' % big }}", "t, line 1: %d: an integer does not fit 64 bits"}},
                  ErrorKind::BadInput);
  // One from JSON is kept digit by digit.
  EXPECT_EQ(
      render("{{ big }} {{ -big == below }} {{ big > 1e20 }} {{ big > n }} {{ below|abs }} {{ {big: 1} }}"),
      "123456789012345678901 True True True 123456789012345678901 {123456789012345678901: 1}");
  EXPECT_EQ(
      render("{{ below < big }} {{ below < -1e20 }} {{ big == big * 1.0 if false else big is integer }}"),
      "True True True");
}

// The filter of a for runs after the expressions of its statement: it used to refer to what was gone by then.
TEST(JinjaRender, FilteredLoopLooksAhead) {
  EXPECT_EQ(render("{% for x in xs if x > 1 %}{{ x }}{{ loop.index }}{{ loop.last }} {% endfor %}"),
            "31False 22True ");
  EXPECT_EQ(
      render("{% for x in xs if x > 1 %}{{ loop.length }}{{ loop.nextitem }} {% else %}none{% endfor %}"),
      "22 2 ");
  EXPECT_EQ(render("{% for x in xs if x > 5 %}{{ x }}{% else %}none{% endfor %}"), "none");
  // A loop that outlives its for has nothing left to take.
  EXPECT_EQ(render("{% set ns = namespace() %}{% for x in xs if x %}{% set ns.l = loop %}{% if x == 1 %}"
                   "{% break %}{% endif %}{% endfor %}{{ ns.l.last }}{{ ns.l.length }}{{ ns.l.index }}"),
            "True22");
}

TEST(JinjaLimits, RecursionEnds) {
  expect_failures({{"{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
                    "t, line 1: calls nested more than 400 deep"},
                   {"{% macro f(n) %}{{ caller() }}{% call f(n) %}{% endcall %}{% endmacro %}{% call f(0) "
                    "%}{% endcall %}",
                    "t, line 1: calls nested more than 400 deep"},
                   {"{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
                    "t, line 1: a value that holds itself cannot be printed"}},
                  ErrorKind::BadInput);
}

TEST(JinjaLimits, StepsTextAndOutputAreBounded) {
  const auto message = [](std::string_view source, const Limits& limits) -> std::string {
    try {
      return "rendered " + std::to_string(render(source, {.limits = limits, .now = {}}).size());
    } catch (const Error& error) {
      EXPECT_EQ(name_of(error.kind()), name_of(ErrorKind::BadInput));
      return error.what();
    }
  };
  constexpr std::string_view kLoops =
      "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}";
  EXPECT_EQ(message(kLoops, {.steps = 100'000}),
            "t, line 1: stopped after 100000 steps; the template does not seem to end");
  EXPECT_EQ(message(kLoops, {}), "rendered 0");
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr std::string_view kTooMuch =
      "t, line 1: stopped: more than 8 MiB of text made in all, or 2 MiB in one piece";
  const Limits small{.work_bytes = 8 * kMiB, .output_bytes = 2 * kMiB};
  EXPECT_EQ(message("{{ 'a' * 10000000000 }}", small), kTooMuch);
  EXPECT_EQ(message("{{ 'a' * 9223372036854775807 }}", small), kTooMuch);
  EXPECT_EQ(message("{{ ([1] * 10000000000)|length }}", small), kTooMuch);
  EXPECT_EQ(message("{% for i in range(100) %}{% set x = 'a' * 100000 %}{% endfor %}", small), kTooMuch);
  EXPECT_EQ(message("{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}"
                    "{% endfor %}",
                    small),
            kTooMuch);
  EXPECT_EQ(message("{% set x = 'a' * 100000 %}{% for i in range(30) %}{{ x }}{% endfor %}", small),
            "t, line 1: stopped: the output is longer than 2 MiB");
  EXPECT_EQ(message("{{ '%4000000s' % 'a' }}", small), "t, line 1: a width in a format string is above 4096");
  EXPECT_EQ(message("{{ 'a'|indent(99999999, true) }}", small), kTooMuch);
  EXPECT_EQ(message("{{ range(200000)|length }}", {}), "t, line 1: Range too big: more than 100000 items");
}

// Deep nesting of any kind ends with a sentence, when loading or when rendering, and is freed again.
TEST(JinjaLimits, DeepNestingNeverCrashes) {
  constexpr int kDeep = 20'000;
  const std::string sources[] = {
      "{{ " + repeated("(", kDeep) + "1" + repeated(")", kDeep) + " }}",
      "{{ " + repeated("[", kDeep) + repeated("]", kDeep) + " }}",
      "{{ " + repeated("{1:", kDeep) + "1" + repeated("}", kDeep) + " }}",
      "{{ " + repeated("not ", kDeep) + "n }}",
      "{{ " + repeated("-", kDeep) + "n }}",
      "{{ n" + repeated(" + n", kDeep) + " }}",
      "{{ n" + repeated(" or n", kDeep) + " }}",
      "{{ n" + repeated(" ** n", kDeep) + " }}",
      "{{ s" + repeated("|upper", kDeep) + " }}",
      "{{ s" + repeated(".a", kDeep) + " }}",
      "{{ s" + repeated("[0]", kDeep) + " }}",
      "{{ s" + repeated("[0:]", kDeep) + " }}",
      "{{ s" + repeated("()", kDeep) + " }}",
      "{{ " + repeated("n if n else ", kDeep) + "n }}",
      "{{ n" + repeated(" if n", kDeep) + " }}",
      "{{ " + repeated("s[", kDeep) + "0" + repeated("]", kDeep) + " }}",
      "{{ " + repeated("dict(a=", kDeep) + "0" + repeated(")", kDeep) + " }}",
      "{{ " + repeated("n is eq ", kDeep) + "n }}",
      repeated("{% if n %}", kDeep) + repeated("{% endif %}", kDeep),
      repeated("{% for x in xs %}", kDeep) + repeated("{% endfor %}", kDeep),
      repeated("{% macro m() %}", kDeep) + repeated("{% endmacro %}", kDeep),
      repeated("{% set x %}", kDeep) + repeated("{% endset %}", kDeep),
      "{% for " + repeated("(", kDeep) + "x" + repeated(")", kDeep) + " in xs %}{% endfor %}",
      "{% set ns = namespace(x=[]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}",
      "{% set ns = namespace(x='') %}{% for i in range(5000) %}{% set ns.x = ns.x.split %}{% endfor %}",
      "{{ " + repeated("s|map(", kDeep) + "'upper'" + repeated(")", kDeep) + " }}",
  };
  // The stack of the main thread is large; the server's are not.
  std::thread([&] {
    for (const std::string& source : sources) {
      try {
        render(source);
      } catch (const Error& error) {
        EXPECT_TRUE(std::string_view(error.what()).starts_with("t, line 1: ")) << error.what();
      }
    }
  }).join();
}

// Chains and rings of things that may change: namespaces, macros, loops. Run under the address sanitizer this
// shows that they are freed, and freed without recursion.
TEST(JinjaLimits, ChainsAreFreed) {
  expect_failures({{"{% set ns = namespace() %}{% for i in range(50000) %}{% set more = namespace() %}"
                    "{% set more.next = ns.next %}{% set ns.next = more %}{% endfor %}done",
                    "t, line 1: a value is nested more than 128 deep"}},
                  ErrorKind::BadInput);
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in range(20000) %}{% macro m() %}{% endmacro %}"
                   "{% set ns.m = m %}{% endfor %}done"),
            "done");
  EXPECT_EQ(render("{% set ns = namespace() %}{% for i in range(20000) %}{% for j in [ns.loop] %}"
                   "{% set ns.loop = loop %}{% endfor %}{% endfor %}done"),
            "done");
}

TEST(JinjaRender, ManyThreadsShareOneTemplate) {
  const Template shared(
      "{% macro m(x) %}{{ x * 2 }}{% endmacro %}{% for x in xs|sort if x %}{{ m(x) }}{% endfor %}{{ range }}",
      "t");
  const std::string alone = shared.render(variables());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) EXPECT_EQ(shared.render(variables()), alone);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(alone.starts_with("246"));
}

}  // namespace
}  // namespace redline::text::jinja
