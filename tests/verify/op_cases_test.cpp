// Type rules of the records: every case is accepted, and every rejected case names its rule.
#include <gtest/gtest.h>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/verify/operators/op_case.h"
#include "tests/support/error.h"

namespace halfstep::verify {
namespace {

std::vector<Type> infer(const OpInfo& info, const OpCase& use) {
  const Attributes attributes = complete_attributes(info, use.attributes, "case");
  std::vector<const Type*> in;
  for (const auto& type : use.in) in.push_back(type ? &*type : nullptr);
  return info.infer({"case", info, in, attributes});
}

TEST(OpCases, EveryCaseHasStaticResults) {
  for (const OpTest& test : op_tests()) {
    const OpInfo& info = require_operator(test.op, "table");
    for (const OpCase& use : test.cases) {
      std::vector<Type> types;
      EXPECT_EQ(test::error_of([&] { types = infer(info, use); }), "no error") << test.op;
      EXPECT_EQ(types.size(), info.outputs.size()) << test.op;
      for (const Type& type : types) EXPECT_TRUE(type.is_static()) << test.op << ": " << to_string(type);
    }
  }
}

TEST(OpCases, EveryRejectNamesItsRule) {
  for (const OpTest& test : op_tests()) {
    const OpInfo& info = require_operator(test.op, "table");
    for (const OpReject& reject : test.rejects) {
      const std::string message = test::error_of([&] { infer(info, reject.refused); });
      EXPECT_TRUE(message.starts_with("case: " + test.op + " " + reject.rule + ": ")) << message;
    }
  }
}

TEST(OpCases, TheTableIsInOrderAndFound) {
  for (const OpInfo& info : all_operators()) EXPECT_EQ(find_operator(info.name), &info);
  EXPECT_EQ(find_operator("nothing"), nullptr);
  ASSERT_NE(find_foreign_operator("paddle", "swish"), nullptr);
  EXPECT_EQ(find_foreign_operator("paddle", "swish")->name, "silu");
  EXPECT_EQ(find_foreign_operator("onnx", "swish"), nullptr);
}

}  // namespace
}  // namespace halfstep::verify
