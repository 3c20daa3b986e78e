// Helpers shared by the tests of captured functions.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/function.h"

namespace halfstep::capture::test {

inline Array array(std::initializer_list<float> values, Dims dims = {}) {
  if (dims.empty()) dims = {static_cast<int64_t>(values.size())};
  return Array(Tensor::of<float>(DType::f32, std::move(dims), std::vector<float>(values)));
}

inline Array parameter(std::initializer_list<float> values, Dims dims = {}) {
  Array made = array(values, std::move(dims));
  made.require_gradient();
  return made;
}

inline void expect_same(const Arrays& found, const Arrays& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i].tensor().same_bits(expected[i].tensor())) << "result " << i;
}

/// The numbers of an array.
inline std::vector<float> values(const Array& array) {
  const auto data = array.tensor().data<float>();
  return {data.begin(), data.end()};
}

}  // namespace halfstep::capture::test
