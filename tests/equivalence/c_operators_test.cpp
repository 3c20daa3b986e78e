// Operators on rows of codes in C, each alone, compared with their references on codes that a network would rarely
// have.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "tests/equivalence/c_backend.h"

namespace halfstep::test {
namespace {

/// An operator on the codes `q` of the samples, which are the numbers in them. Also on their transpose `t`, their parts
/// `h`, `r` and `v`, and three times `q` as `w`, all of one type, and `n` of 8 bits.
struct Case {
  const char *name, *type, *text;
  int64_t different = 5;  ///< least number of different codes in the result
};

constexpr Case kCases[] = {
    {"softmax", "u8", "integer_softmax(x=q, fine=@fine, coarse=@one) {multiplier: 2139095040, shift: 23}"},
    {"softmax_axis", "i8",
     "integer_softmax(x=q, fine=@fine, coarse=@one) {axis: 1, multiplier: 2139095040, shift: 23, y_zero_point: 3, "
     "shift_rounding: \"half_even\"}"},
    {"softmax_wide", "u16",
     "integer_softmax(x=q, fine=@slow, coarse=@slower) {axis: 1, flattened: true, multiplier: 2147450880, shift: 15, "
     "code_type: \"u16\", code_max: 65535}"},
    {"softmax_of_small_exponentials", "u16",
     "integer_softmax(x=q, fine=@falling, coarse=@falling) {multiplier: 2147450880, shift: 15, code_type: \"u16\", "
     "code_max: 65535}"},
    {"norm", "u8",
     "integer_norm(x=q, factor=@factor, bias=@bias) {epsilon: 40, guard: 16, shift: 34, x_zero_point: 7, "
     "y_zero_point: 100}"},
    {"norm_of_nothing", "u8",
     "integer_norm(x=q, factor=@factor, bias=@bias) {epsilon: 0, guard: 0, shift: 34, x_zero_point: 255}"},
    {"root_mean_square", "i16",
     "integer_norm(x=q, factor=@factor, bias=@bias) {centered: false, epsilon: 4000, guard: 8, shift: 24, code_min: "
     "-32768, code_max: 32767, code_type: \"i16\", shift_rounding: \"half_away\"}"},
    {"norm_of_large", "u16",
     "integer_norm(x=q, factor=@factor, bias=@bias) {epsilon: 1152921504606846975, guard: 16, shift: 34, x_zero_point: "
     "0, y_zero_point: 128, shift_rounding: \"truncate\"}"},
    {"product", "u8",
     "integer_matmul(a=q, b=t) {a_zero_point: 7, b_zero_point: 128, multiplier: 1073741824, shift: 41, "
     "y_zero_point: 50}"},
    {"product_of_transposed", "i8",
     "integer_matmul(a=t, b=q) {transpose_a: true, transpose_b: true, a_zero_point: -128, multiplier: 1431655765, "
     "shift: 43, shift_rounding: \"doubled\"}"},
    {"product_beyond_32_bits", "u16",
     "integer_matmul(a=q, b=n) {transpose_b: true, a_zero_point: -32768, b_zero_point: -3000, multiplier: 2147483647, "
     "shift: 47, code_type: \"u16\", code_max: 65535}"},
    {"product_beyond_64_bits", "u16",
     "integer_matmul(a=q, b=t) {a_zero_point: 300, b_zero_point: 32768, multiplier: 2147483647, shift: 50, "
     "y_zero_point: 30000, code_type: \"u16\", code_max: 65535}"},
    // In the products of row 3 with itself and with row 4, only the last 16 bits tell more than a half from a half.
    {"product_to_the_even", "u16",
     "integer_matmul(a=q, b=t) {a_zero_point: 2368, b_zero_point: 45794, multiplier: 1247546552, shift: 50, "
     "y_zero_point: 30000, code_type: \"u16\", code_max: 65535, shift_rounding: \"half_even\"}"},
    {"product_away", "u16",
     "integer_matmul(a=q, b=t) {a_zero_point: 770, b_zero_point: 36935, multiplier: 1938848403, shift: 50, "
     "y_zero_point: 65535, code_type: \"u16\", code_max: 65535, shift_rounding: \"half_away\"}"},
    {"product_down", "u16",
     "integer_matmul(a=q, b=t) {a_zero_point: 300, b_zero_point: 32768, multiplier: 2147483647, shift: 50, "
     "y_zero_point: 30000, code_type: \"u16\", code_max: 65535, shift_rounding: \"truncate\"}"},
    {"product_twice_rounded", "u16",
     "integer_matmul(a=q, b=t) {a_zero_point: 300, b_zero_point: 32768, multiplier: 2147483647, shift: 50, "
     "y_zero_point: 30000, code_type: \"u16\", code_max: 65535, shift_rounding: \"doubled\"}"},
    {"product_of_shifts", "i16",
     "integer_matmul(a=q, b=t) {multiplier: 1, shift: 20, code_type: \"i16\", code_min: -32768, code_max: 32767}"},
    {"product_beyond_all_codes", "u16",
     "integer_matmul(a=q, b=t) {b_zero_point: 32768, multiplier: 2147483647, shift: 1, y_zero_point: 30000, "
     "code_type: \"u16\", code_max: 65535}",
     3},
    {"product_twice_rounded_beyond_all_codes", "u16",
     "integer_matmul(a=q, b=t) {b_zero_point: 32768, multiplier: 2147483647, shift: 18, y_zero_point: 30000, "
     "code_type: \"u16\", code_max: 65535, shift_rounding: \"doubled\"}",
     3},
    {"concatenation_with_stored_codes", "u8", "concat(x=[@stored, q, @stored]) {axis: 3}"},
    {"masked_here_and_there", "u8", "mask_fill(x=w, condition=@mask, value=@masked)"},
    {"padding_of_zeros", "u8", "pad(x=q) {pads: [0, 0, 1, 0, 0, 0, 0, 2]}"},
    {"mean", "i16",
     "integer_reduce_mean(x=q) {axes: [0, 2], x_zero_point: 32767, multiplier: 1431655765, shift: 43, y_zero_point: "
     "250}"},
    {"mean_of_all", "u16",
     "integer_reduce_mean(x=q) {axes: [], keep_dims: true, multiplier: 1431655765, shift: 48, shift_rounding: "
     "\"half_even\"}"},
    {"sum", "u8",
     "integer_add(a=q, b=h) {a_zero_point: 7, b_zero_point: 255, a_multiplier: 1073741824, b_multiplier: 2147483647, "
     "shift: 32, y_zero_point: 90}"},
    {"difference", "u8",
     "integer_add(a=q, b=h) {a_zero_point: 7, b_zero_point: 255, a_multiplier: 1073741824, b_multiplier: -2147483647, "
     "shift: 32, y_zero_point: 90}"},
    {"sum_of_crossed", "u16",
     "integer_add(a=v, b=r) {a_multiplier: 1073741824, b_multiplier: 2147483647, shift: 33, code_type: \"u16\", "
     "code_max: "
     "65535, shift_rounding: \"half_away\"}"},
    {"running", "u8",
     "integer_cumsum(x=q) {axis: -1, x_zero_point: 7, multiplier: 1073741824, shift: 33, y_zero_point: 50}"},
    {"running_back", "i16",
     "integer_cumsum(x=q) {axis: 1, exclusive: true, reverse: true, x_zero_point: 300, multiplier: 1431655765, shift: "
     "33, code_type: \"i16\", code_min: -32768, code_max: 32767, shift_rounding: \"half_even\"}"},
    {"places", "u8", "max_pool(x=q) {kernel: [2, 2], stride: [2, 2], pad: [0, 1, 1, 1], with_indices: true}"},
    {"column_places", "i8",
     "max_pool(x=q) {kernel: [3, 2], dilation: [2, 4], stride: [1, 3], storage_order: 1, ceil_mode: true, "
     "with_indices: true}"},
    {"cube", "u8", "reshape(x=q) {dims: [2, 3, 5, 3, 4]}"},
    {"cube_places", "u8",
     "max_pool(x=cube) {kernel: [2, 2, 2], dilation: [2, 1, 2], storage_order: 1, pad: [1, 0, 1, 0, 1, 0], "
     "with_indices: true}"},
    {"apart", "u8", "reshape(x=q) {dims: [6, 5, 12]}"},
    {"line_places", "u8", "max_pool(x=apart) {kernel: [3], dilation: [2], stride: [2], with_indices: true}"},
    {"unpooled", "u8",
     "max_unpool(x=places, indices=places.indices, value=@masked) {kernel: [2, 2], stride: [2, 2], pad: [0, 1, 1, "
     "1]}"},
    {"unpooled_in_more", "u8",
     "max_unpool(x=places, indices=places.indices) {kernel: [2, 2], stride: [2, 2], pad: [0, 1, 1, 1], dims: [2, 3, 7, "
     "13]}"},
    {"unpooled_cube", "u8", "max_unpool(x=cube, indices=@cube_at) {kernel: [1, 1, 1], dims: [2, 3, 5, 3, 4]}"},
    {"first_largest", "u8", "arg_max(x=q) {axis: 1}", 3},
    {"first_smallest", "u8", "arg_min(x=q) {axis: 1}", 3},
    {"last_smallest", "i16", "arg_min(x=q) {axis: -1, keep_dims: false, select_last_index: true}"},
    {"largest", "u8", "top_k(x=q) {k: 4}"},
    {"smallest", "i16", "top_k(x=q) {k: 3, axis: 1, largest: false}"},
    {"taken", "u8", "gather_elements(x=q, indices=largest.indices) {axis: -1}"},
    {"top", "u8", "gather_elements(x=q, indices=first_largest) {axis: 1}"},
    {"put", "i16", "scatter_elements(x=q, indices=smallest.indices, updates=q) {axis: 1}"},
    {"lifted", "u8", "scatter_elements(x=q, indices=first_smallest, updates=top) {axis: 1, reduction: \"max\"}"},
    {"lowered", "u8", "scatter_elements(x=q, indices=@low_at, updates=top) {axis: 1, reduction: \"min\"}"},
    {"put_in_stored", "u8", "scatter_elements(x=@base, indices=largest.indices, updates=largest) {axis: -1}"},
    {"rows", "u8", "reshape(x=q) {dims: [30, 12]}"},
    {"flat", "u8", "slice(x=rows) {starts: [7], ends: [20], axes: [0]}"},
    {"row_places", "u8", "top_k(x=flat) {k: 1, axis: 0}"},
    {"positions", "u8", "transpose(x=row_places.indices) {perm: [1, 0]}"},
    {"blocks", "u8", "gather_nd(x=flat, indices=positions)"},
    {"turned", "u8", "transpose(x=blocks) {perm: [1, 0]}"},
    {"written", "u8", "scatter_nd(x=flat, indices=positions, updates=turned)"},
    {"written_where_less", "u8", "scatter_nd(x=flat, indices=positions, updates=turned) {reduction: \"min\"}"},
    {"batch_places", "u8", "top_k(x=apart) {k: 2, axis: 1}"},
    {"batch_positions", "u8", "reshape(x=batch_places.indices) {dims: [6, 24, 1]}"},
    {"batch_blocks", "u8", "gather_nd(x=apart, indices=batch_positions) {batch_dims: 1}"},
    {"multiple", "u8",
     "integer_mul(a=r, b=v) {a_zero_point: 7, b_zero_point: 128, multiplier: 1073741824, shift: 38, y_zero_point: 50}"},
};

/// The codes of a type as a network has them, and parts of them.
std::string values_of(const std::string& type) {
  const std::map<std::string, std::string> ends = {{"u8", "0, code_max: 255"},
                                                   {"i8", "-128, code_max: 127"},
                                                   {"u16", "0, code_max: 65535"},
                                                   {"i16", "-32768, code_max: 32767"}};
  return fmt::format(R"(
  q_{0} = quantize(x=x_{0}, scale=@s, zero_point=@z) {{code_type: "{0}", code_min: {1}}}
  t_{0} = transpose(x=q_{0}) {{perm: [0, 1, 3, 2]}}
  h_{0} = slice(x=q_{0}) {{starts: [1, 0], ends: [2, 1], axes: [1, 2]}}
  r_{0} = slice(x=q_{0}) {{starts: [2, 3], ends: [3, 4], axes: [1, 3]}}
  v_{0} = slice(x=q_{0}) {{starts: [1, 2], ends: [2, 3], axes: [0, 2]}}
  w_{0} = concat(x=[q_{0}, q_{0}, q_{0}]) {{axis: 3}})",
                     type, ends.at(type));
}

/// "=q," as "=q_u8,".
std::string text_of(const Case& c) {
  std::string text = c.text;
  for (const char* operand : {"=q", "=t", "=h", "=r", "=v", "=w", " q"}) {
    for (const char* end : {",", ")"}) {
      const std::string word = std::string(operand) + end;
      for (size_t at = text.find(word); at != std::string::npos; at = text.find(word))
        text.replace(at, word.size(), std::string(operand) + "_" + c.type + end);
    }
  }
  return fmt::format("  {} = {}\n", c.name, text);
}

constexpr const char* kTypes[] = {"u8", "i8", "u16", "i16"};

/// All cases in one program.
Model all_cases() {
  std::string text = "graph all(";
  for (const char* type : kTypes) text += fmt::format("{}x_{}: f32[2, 3, 5, 12]", type == kTypes[0] ? "" : ", ", type);
  text += R"() {
  const @s: f32[1]
  const @large: f32[1]
  const @z: i32[1]
  param @fine: i32[256]
  param @one: i32[1]
  param @slow: i32[256]
  param @slower: i32[256]
  param @falling: i32[256]
  param @factor: i32[12]
  param @bias: i64[12]
  param @stored: u8[2, 3, 5, 4]
  param @mask: bool[2, 3, 5, 36]
  param @masked: u8[]
  param @base: u8[2, 3, 5, 12]
  const @cube_at: i64[2, 3, 5, 3, 4]
  const @low_at: i64[2, 1, 5, 12]
  n = quantize(x=x_u16, scale=@large, zero_point=@z))";
  for (const char* type : kTypes) text += values_of(type);
  text += "\n";
  for (const Case& c : kCases) text += text_of(c);
  text += "  return softmax\n}";
  Model model;
  model.graph = parse(text, "all.ir");
  model.tensors = {{"s", Tensor::scalar(1.0F)}, {"large", Tensor::scalar(256.0F)}, {"z", Tensor::scalar(int32_t{0})}};
  const auto exponentials = [](int64_t count, double each) {
    Tensor table(DType::i32, {count});
    for (int64_t i = 0; i < count; ++i)
      table.data<int32_t>()[static_cast<size_t>(i)] =
          static_cast<int32_t>(std::lrint(std::ldexp(std::exp(-each * static_cast<double>(i)), 30)));
    return table;
  };
  model.tensors["fine"] = exponentials(256, 0.0625);
  model.tensors["one"] = exponentials(1, 0);
  model.tensors["slow"] = exponentials(256, 0.0001);
  model.tensors["slower"] = exponentials(256, 0.0256);
  Tensor falling(DType::i32, {256});  // its products round to 0, 1, 2 and 3
  for (int i = 0; i < 256; ++i) falling.data<int32_t>()[static_cast<size_t>(i)] = 56000 - 200 * i;
  model.tensors["falling"] = falling;
  Random random(5, 9);
  Tensor factor(DType::i32, {12}), bias(DType::i64, {12});
  for (size_t i = 0; i < 12; ++i) {
    factor.data<int32_t>()[i] = static_cast<int32_t>(random.below(2000000)) - 1000000;
    bias.data<int64_t>()[i] = (static_cast<int64_t>(random.below(2000)) - 1000) * (int64_t{1} << 31);
  }
  Tensor stored(DType::u8, {2, 3, 5, 4}), mask(DType::boolean, {2, 3, 5, 36});
  for (uint8_t& code : stored.data<uint8_t>()) code = static_cast<uint8_t>(random.below(256));
  for (bool& is_masked : mask.data<bool>()) is_masked = random.below(3) == 0;
  model.tensors["stored"] = stored;
  model.tensors["mask"] = mask;
  model.tensors["masked"] = Tensor::scalar(uint8_t{77});
  Tensor cube_at(DType::i64, {2, 3, 5, 3, 4}), low_at(DType::i64, {2, 1, 5, 12});
  for (int64_t& at : cube_at.data<int64_t>()) at = static_cast<int64_t>(random.below(360));
  for (int64_t& at : low_at.data<int64_t>()) at = static_cast<int64_t>(random.below(3));
  Tensor base(DType::u8, {2, 3, 5, 12});
  for (uint8_t& code : base.data<uint8_t>()) code = static_cast<uint8_t>(random.below(256));
  model.tensors["base"] = base;
  model.tensors["cube_at"] = cube_at;
  model.tensors["low_at"] = low_at;
  model.tensors["factor"] = factor;
  model.tensors["bias"] = bias;
  return model;
}

/// Random codes, with rows of one code, rows of both extremes, and a row with one different code.
Tensor samples(const std::string& type) {
  const int64_t most = type.ends_with("16") ? 65536 : 256, low = type.starts_with("i") ? -most / 2 : 0;
  Tensor x(DType::f32, {2, 3, 5, 12});
  Random random(3, 8);
  for (int64_t i = 0; i < x.size(); ++i) {
    const int64_t row = i / 12, column = i % 12;
    auto code = static_cast<int64_t>(random.below(static_cast<uint64_t>(most)));
    if (row == 3) code = most - 1;
    if (row == 4) code = 0;
    if (row == 5) code = column % 2 == 0 ? 0 : most - 1;
    if (row == 6) code = column == 4 ? 1 : 0;
    if (row > 20) code = most / 2 + code % 7;
    x.data<float>()[static_cast<size_t>(i)] = static_cast<float>(low + code);
  }
  return x;
}

/// Results of the references, by the name of each value.
Tensors expected(const Model& model, const Tensors& inputs) {
  Tensors values = inputs;
  for (const auto& [name, tensor] : model.tensors) values[name] = tensor;
  for (Op op : model.graph.ops()) {
    std::vector<Tensor> operands;
    for (const Value operand : op.operands()) operands.push_back(operand ? values.at(operand.name()) : Tensor());
    const auto results = compiler::evaluate(op, operands);
    for (size_t i = 0; i < results.size(); ++i) values[op.results()[i].name()] = results[i];
  }
  return values;
}

int64_t different(const Tensor& codes) {
  std::set<double> all;
  for (int64_t i = 0; i < codes.size(); ++i) all.insert(element(codes, i));
  return std::ssize(all);
}

class COperators : public CBackend {};

// A5.1, A5.9, A5.61, A5.62, A5.63, A5.64, A5.65
TEST_F(COperators, HaveTheCodesOfTheirReferences) {
  const Model model = all_cases();
  Tensors inputs;
  for (const char* type : kTypes) inputs[std::string("x_") + type] = samples(type);
  const Tensors codes = expected(model, inputs);
  std::vector<api::CProgramOptions> machines = other_machines();
  machines.push_back(with_compiler(kSanitized));
  for (const api::CProgramOptions& machine : machines) {
    verify::ExecutionPaths paths;
    paths.integer = model;
    api::add_c(paths, machine);
    const Tensors found = paths.engine(inputs);
    for (const Case& c : kCases) {
      SCOPED_TRACE(fmt::format("{}: {}", machine.compiler, c.name));
      for (const Value result : model.graph.op(c.name).results())
        EXPECT_TRUE(found.at(result.name()).same_bits(codes.at(result.name()))) << result.name();
      EXPECT_GE(different(codes.at(c.name)), std::min(codes.at(c.name).size(), c.different));
    }
  }
}

}  // namespace
}  // namespace halfstep::test
