// Printer and parser.
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify.h"
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
    error_of([&] { parse(text.substr(0, i)); });
    for (const char c : {'(', '}', '"', '[', '=', '@', '-', '\0'}) {
      std::string changed = text;
      changed[i] = c;
      error_of([&] { verify(parse(changed)); });
    }
  }
}

struct Refusal {
  const char* text;  ///< behind "graph g(x: f32[1]) {\n"
  const char* error;
};

class ParseRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(ParseRefuses, WithMessage) {
  const std::string text = std::string("graph g(x: f32[1]) {\n") + GetParam().text;
  EXPECT_EQ(error_of([&] { parse(text, "t.ir"); }), GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    Statements, ParseRefuses,
    testing::Values(
        Refusal{"", "t.ir:2: found the end of the text, expected an operation, a tensor or 'return'"},
        Refusal{"return x", "t.ir:2: found the end of the text, expected '}'"},
        Refusal{"return x }\n y", "t.ir:3: found 'y', expected the end of the text"},
        Refusal{"return ,", "t.ir:2: found ',', expected an output or '}'"},
        Refusal{"return x, x }", "t.ir:2: graph 'g': two outputs are called 'x', expected one"},
        Refusal{"a relu(x)", "t.ir:2: found 'relu', expected '='"},
        Refusal{"a = rleu(x)", "t.ir:2: found 'rleu', expected an operator, did you mean 'relu'?"},
        Refusal{"a = return(x)", "t.ir:2: found 'return', expected an operator"},
        Refusal{"x = relu(x)", "t.ir:2: found 'x', expected a name that is not taken"},
        Refusal{"a = relu(x)\n\n a = relu(x)", "t.ir:4: found 'a', expected a name that is not taken"},
        Refusal{"\"a.out_scale\" = relu(x) state @s: f32[1] state @i: i64[1]\na = observe(x, in_scale=@s, iter=@i)",
                "t.ir:3: name 'a' is taken, with those of its outputs"},
        Refusal{"\"\" = relu(x)", "t.ir:2: found \"\", expected an operation, a tensor or 'return'"},
        Refusal{"region = relu(x)", "t.ir:2: found 'region', expected an operation, a tensor or 'return'"}));

INSTANTIATE_TEST_SUITE_P(
    Operands, ParseRefuses,
    testing::Values(Refusal{"conv = relu(x) b = relu(covn)",
                            "t.ir:2: found 'covn', expected a value that is defined before, did you mean 'conv'?"},
                    Refusal{"a = relu(a)", "t.ir:2: found 'a', expected a value that is defined before"},
                    Refusal{"a = relu(@x)", "t.ir:2: found 'x', expected a tensor that is declared before"},
                    Refusal{
                        "param @weight: f32[1] a = relu(@wieght)",
                        "t.ir:2: found 'wieght', expected a tensor that is declared before, did you mean 'weight'?"},
                    Refusal{"a = observe(x, in_scal=x)",
                            "t.ir:2: found 'in_scal', expected an input of observe, did you mean 'in_scale'?"},
                    Refusal{"a = relu(x=x, x=x)", "t.ir:2: found 'x', expected each input once"},
                    Refusal{"a = relu(x, x=x)", "t.ir:2: found 'x', expected each input once"},
                    Refusal{"a = linear(x, x)", "t.ir:2: found 'x', expected PORT=VALUE"},
                    Refusal{"a = linear(x, @w)", "t.ir:2: found '@', expected PORT=VALUE"},
                    Refusal{"a = concat(x) {axis: 0}", "t.ir:2: found 'x', expected PORT=VALUE"},
                    Refusal{"a = concat(x=x) {axis: 0}", "t.ir:2: found 'x', expected '['"},
                    Refusal{"a = concat(x=[x)", "t.ir:2: found ')', expected ',' or ']'"},
                    Refusal{"a = relu()", "t.ir:2: node 'a': relu: input 'x' is missing"},
                    Refusal{"a = relu(x", "t.ir:2: found the end of the text, expected ',' or ')'"},
                    Refusal{"\n a = linear(x, w=x)", "t.ir:3: node 'a': linear dims: found 1 and 1, expected 2 each"}));

INSTANTIATE_TEST_SUITE_P(
    Attributes, ParseRefuses,
    testing::Values(Refusal{"a = settings(x) {cuont: 1}",
                            "t.ir:2: found 'cuont', expected an attribute of settings, did you mean 'count'?"},
                    Refusal{"a = settings(x) {count: 1, count: 1}",
                            "t.ir:2: found 'count', expected each attribute once"},
                    Refusal{"a = settings(x) {count 1}", "t.ir:2: found '1', expected ':'"},
                    Refusal{"a = settings(x) {count: 1x}", "t.ir:2: found '1x', expected a number"},
                    Refusal{"a = settings(x) {count: -}", "t.ir:2: found '-', expected a number"},
                    Refusal{"a = settings(x) {ratio: 1e999}", "t.ir:2: found '1e999', expected a number"},
                    Refusal{"a = settings(x) {count: one}",
                            "t.ir:2: found 'one', expected a value: a number, a string, true, false or a list"},
                    Refusal{"a = settings(x) {count: \"1\"}",
                            "t.ir:2: node 'a': settings: attribute 'count' is \"1\" (string), expected int"},
                    Refusal{"a = settings(x) {count: 99999999999999999999}",
                            "t.ir:2: node 'a': settings: attribute 'count' is 1e+20 (float), expected int"},
                    Refusal{"a = settings(x) {pad: [1, \"a\"]}", "t.ir:2: found \"a\", expected a number"},
                    Refusal{"a = settings(x) {names: [\"a\", 1]}",
                            "t.ir:2: found '1', expected a string as the elements before it"},
                    Refusal{"a = settings(x) {pad: [[1]]}", "t.ir:2: found '[', expected a number"},
                    Refusal{"a = settings(x) {text: \"a\n\"}",
                            "t.ir:2: found the end of the line, expected the closing quote of a string"},
                    Refusal{"a = settings(x) {text: \"a",
                            "t.ir:2: found the end of the text, expected the closing quote of a string"},
                    Refusal{R"(a = settings(x) {text: "\q"})",
                            R"(t.ir:2: found "\\q", expected an escape: \" \\ \n \t or \x and two hex digits)"},
                    Refusal{"a = relu(x) at net.py:1", "t.ir:2: found 'net.py', expected a file name in quotes"},
                    Refusal{"a = relu(x) at \"net.py\":x", "t.ir:2: found 'x', expected a line number"}));

INSTANTIATE_TEST_SUITE_P(
    TypesAndTensors, ParseRefuses,
    testing::Values(
        Refusal{"param @w: f33[1]", "t.ir:2: found 'f33', expected a type such as f32[1, 3], did you mean 'f32'?"},
        Refusal{"param @w: f32", "t.ir:2: found the end of the text, expected '['"},
        Refusal{"param @w: f32[-1]", "t.ir:2: found '-1', expected an extent or '?'"},
        Refusal{"param @w: f32[1.5]", "t.ir:2: found '1.5', expected an extent or '?'"},
        Refusal{"param @w: f32[1000000, 1000000, 1000000]",
                "t.ir:2: dims [1000000, 1000000, 1000000] hold more than 2^48 elements"},
        Refusal{"param @w: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,7]", "t.ir:2: found '7', expected at most 16 extents"},
        Refusal{"param w: f32[1]", "t.ir:2: found 'w', expected '@'"},
        Refusal{"param @w: f32[1] state @w: f32[1]", "t.ir:2: found 'w', expected a name that is not taken"},
        Refusal{"!", "t.ir:2: found \"!\", expected a word, a string, a number or one of (){}[]=:,@?"},
        Refusal{"\xc3\xa9 = relu(x)",
                "t.ir:2: found \"\\xc3\", expected a word, a string, a number or one of (){}[]=:,@?"}));

INSTANTIATE_TEST_SUITE_P(
    Regions, ParseRefuses,
    testing::Values(
        Refusal{"r = if(x) return r }", "t.ir:2: found 'return', expected 'region then'"},
        Refusal{"r = if(x) region els() { return }", "t.ir:2: found 'els', expected 'then'"},
        Refusal{"r = if(x) region then() { return } return r }", "t.ir:2: found 'return', expected 'region else'"},
        Refusal{"r = if(x) region then() { }", "t.ir:2: found '}', expected an operation or 'return'"},
        Refusal{"r = if(x) region then() { param @w: f32[1] }",
                "t.ir:2: found 'param', expected an operation or 'return'"},
        Refusal{"r = if(x) region then() { return r }", "t.ir:2: found 'r', expected a value that is defined before"},
        Refusal{"r = if(x) region then(v: f32[1]) { return v } region else() { return v }",
                "t.ir:2: found 'v', expected a value that is defined before"},
        Refusal{"r = if(x) region then(v: f32[1]) { return v } region else() { return x } b = relu(v)",
                "t.ir:2: found 'x', expected a value of this region: capture it as an operand"},
        Refusal{"r = if(x) region then(v: f32[1]) { return v } region else() { return } b = relu(v)",
                "t.ir:2: found 'v', expected a value that is defined before"}));

TEST(Parse, RefusesHeaders) {
  const auto error = [](const std::string& text) { return error_of([&] { parse(text, "t.ir"); }); };
  EXPECT_EQ(error(""), "t.ir:1: found the end of the text, expected 'graph'");
  EXPECT_EQ(error("model g() {}"), "t.ir:1: found 'model', expected 'graph'");
  EXPECT_EQ(error("graph (x"), "t.ir:1: found '(', expected a name for the graph");
  EXPECT_EQ(error("graph g(x: f32[1], x: f32[1])"), "t.ir:1: found 'x', expected a name that is not taken");
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
  EXPECT_EQ(error_of([&] { parse(nested(kMaxRegionDepth + 1), "t.ir"); }),
            "t.ir:130: found 'then', expected at most 128 regions in each other");
  error_of([&] { parse(nested(100000)); });
}

TEST(Parse, LimitsSize) {
  EXPECT_EQ(error_of([] { parse(std::string(kMaxTextBytes + 1, ' '), "t.ir"); }),
            "t.ir: found 16777217 bytes of text, expected at most 16777216");
  std::string text = "graph g(x: f32[1]) {\n";
  for (int64_t i = 0; i <= kMaxStatements; ++i) text += "a" + std::to_string(i) + "=sink(x)\n";
  EXPECT_EQ(error_of([&] { parse(text, "t.ir"); }), "t.ir:262146: found 'a262144', expected at most 262144 statements");
  EXPECT_LT(error_of([&] { parse("graph " + std::string(100000, 'g'), "t.ir"); }).size(), 200u);
}

}  // namespace
}  // namespace halfstep
