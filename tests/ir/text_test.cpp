// Printer and parser.
#include <fmt/format.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"
#include "tests/ir/ir_test.h"

namespace halfstep {
namespace {

constexpr const char* kDigits = R"(graph digits(x: f32[?, 3]) {
  const @k: f32[1]
  state @scale: f32[1]
  param @w: f32[2, 3]
  conv1 = linear(x=x, w=@w) at "net.py":12
  cat = concat(x=[conv1, conv1]) {axis: 1}
  s = settings(x=cat) {on: true, count: -3, ratio: 1.0, mode: "exact", text: "a\"b\\\n\t\x01\xff", pad: [], scales: [0.1, 1e-05, inf, -0.0], names: ["a", ""]}
  "return" = observe(x=s, in_scale=@scale) {is_test: true}
  r = if(cond=conv1) at "net.py":20 region then(v: f32[2]) {
    a = relu(x=v)
    return a
  } region else(u: f32[2, 2]) {
    "at" = sink(param=u) {at: 2}
    return
  }
  return r, logits = "return", @k, weight = @w
}
)";

TEST(Print, WholeGraph) {
  EXPECT_EQ(print(parse(kDigits, "digits.ir", {.locations = false}), {.locations = true}), kDigits);
}

TEST(Print, LocationsHaveBaseNames) {
  Graph graph = parse("graph g(x: f32[1]) { a = relu(x) return a }", "dir/net.ir");
  EXPECT_EQ(graph.op("a").where(), "dir/net.ir:1: node 'a'");
  EXPECT_NE(print(graph, {.locations = true}).find("relu(x=x) at \"net.ir\":1\n"), std::string::npos);
  EXPECT_EQ(print(graph).find(" at "), std::string::npos);
}

TEST(Parse, GivesLocations) {
  const Graph graph =
      parse("graph g(x: f32[1]) {\n  a = relu(x)\n  # b\n  c = relu(a) at \"q.py\":7\n  return c\n}", "net.ir");
  EXPECT_EQ(to_string(graph.op("a").location()), "net.ir:2");
  EXPECT_EQ(to_string(graph.op("c").location()), "q.py:7");
}

TEST(Parse, ShortForms) {
  const Graph graph = parse(R"(graph g(x:f32[2,3],y:f32[]){param@w:f32[2,3] a=linear(x,w=@w)c=concat([a,a]){axis:0}# end
    z = linear(x=@w, w=x) {} t = relu(@w) return c})");
  EXPECT_EQ(graph.ops().size(), 4u);
  EXPECT_TRUE(graph.op("t").in(0).is_tensor());
  EXPECT_EQ(to_string(graph.outputs()[0].type()), "f32[4, 2]");
}

TEST(Parse, NumbersKeepTheirType) {
  const auto ratio = [](const std::string& text) {
    const Graph graph = parse("graph g(x: f32[1]) { s = settings(x) {ratio: " + text + "} return s }");
    return to_string(graph.op("s").attributes().at("ratio"));
  };
  for (const char* text : {"0.1", "1.0", "1e-05", "1e+300", "inf", "-inf", "nan", "-nan", "-0.0", "5e-324"})
    EXPECT_EQ(ratio(text), text);
  EXPECT_EQ(ratio("3"), "3.0");
}

TEST(RoundTrip, RandomGraphs) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Graph graph = random_graph(seed);
    verify(graph);
    const std::string text = print(graph, {.locations = true});
    SCOPED_TRACE(text);
    const Graph again = parse(text, "text", {.locations = false});
    ASSERT_TRUE(again == graph);
    ASSERT_EQ(print(again, {.locations = true}), text);
    ASSERT_TRUE(parse(print(graph)) == graph);
    verify(again);
  }
}

// A text that is cut or changed anywhere is a graph or an Error, never anything else.
TEST(Parse, SurvivesDamage) {
  const std::string text = kDigits;
  for (size_t i = 0; i < text.size(); ++i) {
    (void)name_of([&] { parse(text.substr(0, i)); });
    for (const char c : {'(', '}', '"', '[', '=', '@', '-', '\0'}) {
      std::string changed = text;
      changed[i] = c;
      (void)name_of([&] { verify(parse(changed)); });
    }
  }
}

Diagnostic unexpected(int line, const char* found, const char* expected) {
  return errors::text_unexpected(fmt::format("t.ir:{}", line), found, expected);
}

/// An error without a place of its own, placed on this line.
Diagnostic placed_at(int line, const Diagnostic& error) {
  return prefixed(fmt::format("t.ir:{}", line), Error(error)).diagnostics().front();
}

struct Refusal {
  const char* text;  ///< text behind "graph g(x: f32[1]) {\n"
  Diagnostic error;
};

class ParseRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ParseRefuses, WithLineAndExpectation) {
  const std::string text = std::string("graph g(x: f32[1]) {\n") + GetParam().text;
  EXPECT_EQ(diagnostic_of([&] { parse(text, "t.ir"); }), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, ParseRefuses,
    testing::Values(
        Refusal{"", unexpected(2, "the end of the text", "an operation, a tensor or 'return'")},
        Refusal{"return x", unexpected(2, "the end of the text", "'}'")},
        Refusal{"return x }\n y", unexpected(3, "'y'", "the end of the text")},
        Refusal{"return ,", unexpected(2, "','", "an output or '}'")},
        Refusal{"return x, x }", placed_at(2, errors::output_named_twice("g", "x"))},
        Refusal{"a relu(x)", unexpected(2, "'relu'", "'='")},
        Refusal{"a = rleu(x)", errors::unknown_name("t.ir:2", "rleu", "an operator", ", did you mean 'relu'?")},
        Refusal{"a = return(x)", unexpected(2, "'return'", "an operator")},
        Refusal{"x = relu(x)", unexpected(2, "'x'", "a name that is not taken")},
        Refusal{"a = relu(x)\n\n a = relu(x)", unexpected(4, "'a'", "a name that is not taken")},
        Refusal{"\"a.out_scale\" = relu(x) state @s: f32[1] state @i: i64[1]\na = observe(x, in_scale=@s, iter=@i)",
                errors::name_taken("t.ir:3", "a")},
        Refusal{"\"\" = relu(x)", unexpected(2, "\"\"", "an operation, a tensor or 'return'")},
        Refusal{"region = relu(x)", unexpected(2, "'region'", "an operation, a tensor or 'return'")}));

INSTANTIATE_TEST_SUITE_P(
    Operands, ParseRefuses,
    testing::Values(Refusal{"conv = relu(x) b = relu(covn)",
                            unexpected(2, "'covn'", "a value that is defined before, did you mean 'conv'?")},
                    Refusal{"a = relu(a)", unexpected(2, "'a'", "a value that is defined before")},
                    Refusal{"a = relu(@x)", unexpected(2, "'x'", "a tensor that is declared before")},
                    Refusal{"param @weight: f32[1] a = relu(@wieght)",
                            unexpected(2, "'wieght'", "a tensor that is declared before, did you mean 'weight'?")},
                    Refusal{"a = observe(x, in_scal=x)",
                            unexpected(2, "'in_scal'", "an input of observe, did you mean 'in_scale'?")},
                    Refusal{"a = relu(x=x, x=x)", unexpected(2, "'x'", "each input once")},
                    Refusal{"a = relu(x, x=x)", unexpected(2, "'x'", "each input once")},
                    Refusal{"a = linear(x, x)", unexpected(2, "'x'", "PORT=VALUE")},
                    Refusal{"a = linear(x, @w)", unexpected(2, "'@'", "PORT=VALUE")},
                    Refusal{"a = concat(x) {axis: 0}", unexpected(2, "'x'", "PORT=VALUE")},
                    Refusal{"a = concat(x=x) {axis: 0}", unexpected(2, "'x'", "'['")},
                    Refusal{"a = concat(x=[x)", unexpected(2, "')'", "',' or ']'")},
                    Refusal{"a = relu()", errors::operand_missing("t.ir:2: node 'a'", "relu", "x")},
                    Refusal{"a = relu(x", unexpected(2, "the end of the text", "',' or ')'")},
                    Refusal{"\n a = linear(x, w=x)",
                            errors::operand_ranks("t.ir:3: node 'a'", "linear", "1 and 1", "2 each")}));

INSTANTIATE_TEST_SUITE_P(
    Attributes, ParseRefuses,
    testing::Values(
        Refusal{"a = settings(x) {cuont: 1}",
                unexpected(2, "'cuont'", "an attribute of settings, did you mean 'count'?")},
        Refusal{"a = settings(x) {count: 1, count: 1}", unexpected(2, "'count'", "each attribute once")},
        Refusal{"a = settings(x) {count 1}", unexpected(2, "'1'", "':'")},
        Refusal{"a = settings(x) {count: 1x}", unexpected(2, "'1x'", "a number")},
        Refusal{"a = settings(x) {count: -}", unexpected(2, "'-'", "a number")},
        Refusal{"a = settings(x) {ratio: 1e999}", unexpected(2, "'1e999'", "a number")},
        Refusal{"a = settings(x) {count: one}",
                unexpected(2, "'one'", "a value: a number, a string, true, false or a list")},
        Refusal{"a = settings(x) {count: \"1\"}",
                errors::attribute_type("t.ir:2: node 'a'", "settings", "count", "\"1\" (string)", "int")},
        Refusal{"a = settings(x) {count: 99999999999999999999}",
                errors::attribute_type("t.ir:2: node 'a'", "settings", "count", "1e+20 (float)", "int")},
        Refusal{"a = settings(x) {pad: [1, \"a\"]}", unexpected(2, "\"a\"", "a number")},
        Refusal{"a = settings(x) {names: [\"a\", 1]}", unexpected(2, "'1'", "a string as the elements before it")},
        Refusal{"a = settings(x) {pad: [[1]]}", unexpected(2, "'['", "a number")},
        Refusal{"a = settings(x) {text: \"a\n\"}",
                unexpected(2, "the end of the line", "the closing quote of a string")},
        Refusal{"a = settings(x) {text: \"a", unexpected(2, "the end of the text", "the closing quote of a string")},
        Refusal{R"(a = settings(x) {text: "\q"})",
                unexpected(2, R"("\\q")", R"(an escape: \" \\ \n \t or \x and two hex digits)")},
        Refusal{"a = relu(x) at net.py:1", unexpected(2, "'net.py'", "a file name in quotes")},
        Refusal{"a = relu(x) at \"net.py\":x", unexpected(2, "'x'", "a line number")}));

INSTANTIATE_TEST_SUITE_P(
    TypesAndTensors, ParseRefuses,
    testing::Values(
        Refusal{"param @w: f33[1]", unexpected(2, "'f33'", "a type such as f32[1, 3], did you mean 'f32'?")},
        Refusal{"param @w: f32", unexpected(2, "the end of the text", "'['")},
        Refusal{"param @w: f32[-1]", unexpected(2, "'-1'", "an extent or '?'")},
        Refusal{"param @w: f32[1.5]", unexpected(2, "'1.5'", "an extent or '?'")},
        Refusal{"param @w: f32[1000000, 1000000, 1000000]",
                placed_at(2, errors::too_many_elements("[1000000, 1000000, 1000000]"))},
        Refusal{"param @w: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,7]", unexpected(2, "'7'", "at most 16 extents")},
        Refusal{"param w: f32[1]", unexpected(2, "'w'", "'@'")},
        Refusal{"param @w: f32[1] state @w: f32[1]", unexpected(2, "'w'", "a name that is not taken")},
        Refusal{"!", unexpected(2, "\"!\"", "a word, a string, a number or one of (){}[]=:,@?")},
        Refusal{"\xc3\xa9 = relu(x)", unexpected(2, "\"\\xc3\"", "a word, a string, a number or one of (){}[]=:,@?")}));

INSTANTIATE_TEST_SUITE_P(
    Regions, ParseRefuses,
    testing::Values(
        Refusal{"r = if(x) return r }", unexpected(2, "'return'", "'region then'")},
        Refusal{"r = if(x) region els() { return }", unexpected(2, "'els'", "'then'")},
        Refusal{"r = if(x) region then() { return } return r }", unexpected(2, "'return'", "'region else'")},
        Refusal{"r = if(x) region then() { }", unexpected(2, "'}'", "an operation or 'return'")},
        Refusal{"r = if(x) region then() { param @w: f32[1] }", unexpected(2, "'param'", "an operation or 'return'")},
        Refusal{"r = if(x) region then() { return r }", unexpected(2, "'r'", "a value that is defined before")},
        Refusal{"r = if(x) region then(v: f32[1]) { return v } region else() { return v }",
                unexpected(2, "'v'", "a value that is defined before")},
        Refusal{"r = if(x) region then(v: f32[1]) { return v } region else() { return x } b = relu(v)",
                unexpected(2, "'x'", "a value of this region: capture it as an operand")},
        Refusal{"r = if(x) region then(v: f32[1]) { return v } region else() { return } b = relu(v)",
                unexpected(2, "'v'", "a value that is defined before")}));

TEST(Parse, RefusesHeaders) {
  const auto error = [](const std::string& text) { return diagnostic_of([&] { parse(text, "t.ir"); }); };
  EXPECT_EQ(error(""), unexpected(1, "the end of the text", "'graph'"));
  EXPECT_EQ(error("model g() {}"), unexpected(1, "'model'", "'graph'"));
  EXPECT_EQ(error("graph (x"), unexpected(1, "'('", "a name for the graph"));
  EXPECT_EQ(error("graph g(x: f32[1], x: f32[1])"), unexpected(1, "'x'", "a name that is not taken"));
}

TEST(Parse, LimitsDepth) {
  const auto nested = [](int depth) {
    std::string text = "graph g(x: f32[1]) {\n";
    for (int i = 0; i < depth; ++i)
      text += fmt::format("r{} = if({}) region then(v{}: f32[1]) {{\n", i, i == 0 ? "x" : fmt::format("v{}", i - 1), i);
    for (int i = 0; i < depth; ++i) text += "return } region else() { return }\n";
    return text + "return }";
  };
  verify(parse(nested(kMaxRegionDepth)));
  EXPECT_EQ(diagnostic_of([&] { parse(nested(kMaxRegionDepth + 1), "t.ir"); }),
            unexpected(130, "'then'", "at most 128 regions in each other"));
  EXPECT_EQ(name_of([&] { parse(nested(100000)); }), "text_unexpected");
}

TEST(Parse, LimitsSize) {
  EXPECT_EQ(diagnostic_of([] { parse(std::string(kMaxTextBytes + 1, ' '), "t.ir"); }),
            errors::text_too_large("t.ir", 16777217, 16777216));
  std::string text = "graph g(x: f32[1]) {\n";
  for (int64_t i = 0; i <= kMaxStatements; ++i) text += "a" + std::to_string(i) + "=sink(x)\n";
  EXPECT_EQ(diagnostic_of([&] { parse(text, "t.ir"); }), unexpected(262146, "'a262144'", "at most 262144 statements"));
  EXPECT_LT(diagnostic_of([&] { parse("graph " + std::string(100000, 'g'), "t.ir"); }).message().size(), 200u);
}

}  // namespace
}  // namespace halfstep
