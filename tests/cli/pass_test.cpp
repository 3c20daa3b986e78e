// The optimizations one by one, and control flow on the command line.
#include <gtest/gtest.h>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/npz.h"
#include "tests/cli/program.h"
#include "tests/support/error.h"
#include "tests/support/mentions.h"

namespace halfstep {
namespace {

using test::Workspace;

constexpr const char* kTwice = R"(graph twice(x: f32[2, 3]) {
  a = relu(x=x)
  b = relu(x=x)
  c = add(a=a, b=b)
  unread = tanh(x=x)
  return c
}
)";

/// Doubles x while its sum is below 100.
constexpr const char* kLoop = R"(graph loop(x: f32[2], limit: f32[]) {
  first = reduce_sum(x=x) {axes: [0]}
  goes = less(a=first, b=limit)
  l = while(cond=goes, values=[x, limit]) {states: 1} region body(v: f32[2], most: f32[]) {
    w = add(a=v, b=v)
    sum = reduce_sum(x=w) {axes: [0]}
    more = less(a=sum, b=most)
    return more, w
  }
  return l
}
)";

TEST(Pass, says_what_each_changes) {
  Workspace workspace;
  test::write_text(workspace / "twice.ir", kTwice);
  const auto done = workspace.expect(
      0, {"pass", "cse,dce", "twice.ir", "--print-after", "dce", "--out", "smaller.safetensors", "--json"});
  const auto history = done.json()["passes"];
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0]["name"], "cse");
  EXPECT_EQ(history[0]["before"], 4);
  EXPECT_EQ(history[0]["after"], 3);
  EXPECT_EQ(history[1]["after"], 2);
  EXPECT_FALSE(history[0].contains("network"));
  EXPECT_NE(history[1]["network"].get<std::string>().find("c = add(a=a, b=a)"), std::string::npos);
  EXPECT_NE(workspace.expect(0, {"pass", "all", "smaller.safetensors"}).out.find("nothing changed"), std::string::npos);
  const auto unknown = workspace.errors(2, {"pass", "cse,dec", "twice.ir"});
  for (const char* value : {"'dec'", "'dce'"}) EXPECT_TRUE(test::mentions(unknown, value)) << value;
  EXPECT_EQ(workspace.error(2, {"pass"}), errors::pass_without_network());
}

/// The error after five allowed iterations.
Diagnostic too_long() {
  Diagnostic error = errors::loop_exceeds_iterations(5);
  error.where = "while 'l', iteration 5";
  return error;
}

TEST(Pass, lists_them_with_a_sentence_each) {
  Workspace workspace;
  const auto list = workspace.expect(0, {"pass", "--list", "--json"}).json()["passes"];
  ASSERT_GT(list.size(), 5u);
  for (const auto& pass : list) EXPECT_FALSE(pass["doc"].get<std::string>().empty());
  EXPECT_EQ(workspace.expect(0, {"pass", "all", "--list"}).out.substr(0, 13), "coded_regions");
}

TEST(ControlFlow, a_loop_is_inspected_and_run_to_where_its_condition_ends_it) {
  Workspace workspace;
  test::write_text(workspace / "loop.ir", kLoop);
  workspace.expect(0, {"pass", "all", "loop.ir", "--out", "loop.safetensors"});
  const std::string listing = workspace.expect(0, {"inspect", "loop.safetensors", "--device", "sim"}).out;
  for (const char* part : {"while 'l' body", "transfer", "more = less"})
    EXPECT_NE(listing.find(part), std::string::npos) << part << "\n" << listing;
  const float values[] = {1, 2};
  const float limit = 100;
  io::write_npz(workspace / "in.npz", {{"x", Tensor::of<float>(DType::f32, {2}, values)},
                                       {"limit", Tensor::of<float>(DType::f32, {}, {&limit, 1})}});
  workspace.expect(0, {"run", "loop.safetensors", "--inputs", "in.npz", "--outputs", "out.npz"});
  const auto out = io::read_npz(workspace / "out.npz");
  EXPECT_EQ(out.at("l").data<float>()[0], 64);
  EXPECT_EQ(out.at("l").data<float>()[1], 128);
  for (const std::string place : {"cpu", "sim"}) {
    workspace.expect(0, {"run", "loop.safetensors", "--inputs", "in.npz", "--device", place, "--repeat", "2", "--trace",
                         place + ".log," + place + ".json"});
    const std::string log = test::read_text(workspace / (place + ".log"));
    for (const char* part : {"in while 'l', body, iteration 0\n", "in while 'l', body, iteration 5\n"})
      EXPECT_NE(log.find(part), std::string::npos) << part << "\n" << log;
    EXPECT_EQ(log.find("iteration 6"), std::string::npos);
    EXPECT_NE(log.find("out:64..128\n", log.find("node:w kernel")), std::string::npos);  // memory of the last iteration
    EXPECT_LT(log.find("name:while"), log.find("iteration 0"));
    const std::string json = test::read_text(workspace / (place + ".json"));
    EXPECT_NE(json.find("\"inside\": \"while 'l', body, iteration 3\""), std::string::npos);
  }
  workspace.expect(0, {"run", "loop.safetensors", "--inputs", "in.npz", "--max-iterations", "6"});
  EXPECT_EQ(workspace.error(2, {"run", "loop.safetensors", "--inputs", "in.npz", "--max-iterations", "5"}), too_long());
}

TEST(ControlFlow, a_trace_of_a_long_loop_is_cut_off_and_says_so) {
  Workspace workspace;
  test::write_text(workspace / "loop.ir", R"(graph long(n: f32[]) {
  const @step: f32[]
  go = less(a=@step, b=n)
  l = while(cond=go, values=[n]) {states: 1, at_most: 1500} region body(v: f32[]) {
    w = add(a=v, b=v)
    more = less_or_equal(a=v, b=w)
    return more, w
  }
  return l
})");
  workspace.expect(0, {"pass", "dce", "loop.ir", "--out", "loop.safetensors"});
  const float one = 1;
  io::write_npz(workspace / "in.npz", {{"n", Tensor::of<float>(DType::f32, {}, {&one, 1})}});
  workspace.expect(0, {"run", "loop.safetensors", "--inputs", "in.npz", "--trace", "l.log"});
  const std::string log = test::read_text(workspace / "l.log");
  EXPECT_NE(log.find("iteration 999\n"), std::string::npos);
  EXPECT_EQ(log.find("iteration 1000\n"), std::string::npos);
  EXPECT_NE(log.find("\n500 later runs of regions are omitted\n"), std::string::npos);
}

TEST(ControlFlow, a_loop_is_trained_within_its_bound) {
  Workspace workspace;
  test::write_text(workspace / "loop.ir", R"(graph loop(x: f32[?, 4]) {
  param @w: f32[4, 4]
  const @limit: f32[]
  a = reduce_max(x=x) {keep_dims: false}
  go = less(a=a, b=@limit)
  l = while(cond=go, values=[x, x]) {states: 1} region body(v: f32[?, 4], first: f32[?, 4]) {
    b = linear(x=v, w=@w)
    c = tanh(x=b)
    m = reduce_max(x=first) {keep_dims: false}
    more = less(a=m, b=@limit)
    return more, c
  }
  return l
})");
  workspace.expect(0, {"pass", "dce", "loop.ir", "--out", "loop.safetensors"});
  const std::vector<float> x(200, -1.0F);
  const std::vector<int32_t> labels(50, 1);
  io::write_npz(workspace / "data.npz", {{"x", Tensor::of<float>(DType::f32, {50, 4}, x)},
                                         {"labels", Tensor::of<int32_t>(DType::i32, {50}, labels)}});
  const std::vector<std::string> train = {
      "train", "--model", "loop.safetensors", "--data", "data.npz", "--batch", "8", "--epochs", "1",
      "--out", "run",     "--max-iterations"};
  const auto with = [&](const std::string& most) {
    std::vector<std::string> arguments = train;
    arguments.push_back(most);
    return arguments;
  };
  EXPECT_EQ(workspace.error(2, with("5")), too_long());
}

}  // namespace
}  // namespace halfstep
