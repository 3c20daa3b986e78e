// Convolutions and matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/operators.h"
#include "halfstep/formats/c/scales.h"

namespace halfstep::formats::c {
namespace {

constexpr int64_t kRows = 8;    ///< rows of weights that one pass over a patch multiplies (text/dot.c)
constexpr int64_t kPixels = 4;  ///< pixels computed together, which share unpacked weights
constexpr int64_t kLanes = 64;  ///< channels at a time
constexpr int64_t kBlock = 64;  ///< maximum number of codes that are multiplied at once (text/block.c)
constexpr int64_t kMostWhole = INT32_MAX;

/// integer_conv2d or integer_linear.
struct Layer {
  Op op;
  Value x, y;
  std::vector<int64_t> w;  ///< [outputs][kernel height][kernel width][channels of a group]
  std::vector<int64_t> bias;
  int64_t outputs = 0, each = 0, taps = 1, x_zero = 0;
  WindowText window;
  bool is_direct = false;  ///< a window is one position in the image
  bool is_depthwise = false;

  int64_t length() const { return taps * each; }
};

std::vector<int64_t> codes_of(const Tensor& tensor) {
  const auto codes = tensor.data<int8_t>();
  return {codes.begin(), codes.end()};
}

/// Reorders [o][i][taps] to channels last.
std::vector<int64_t> channels_last(const std::vector<int64_t>& w, int64_t each, int64_t taps) {
  std::vector<int64_t> result(w.size());
  for (size_t k = 0; k < w.size(); ++k) {
    const auto place = static_cast<int64_t>(k);
    const int64_t row = place / (each * taps), channel = place / taps % each, tap = place % taps;
    result[static_cast<size_t>((row * taps + tap) * each + channel)] = w[k];
  }
  return result;
}

Layer conv_layer(Body& body, const ops::IntegerConv2d& conv) {
  if (conv.layout() != "channels_first") fail(errors::c_compiled_program(conv.where()));
  const Dims& w = conv.w().dims();
  Layer layer{conv, conv.x(), conv.out(), {}, {}, w[0], w[1], w[2] * w[3], conv.x_zero_point(), {}, false, false};
  layer.w = channels_last(codes_of(body.contents(conv.w())), w[1], layer.taps);
  const auto dims = [](const std::vector<int64_t>& list) { return Dims(list.begin(), list.end()); };
  layer.window = {{w[2], w[3]}, dims(conv.stride()), dims(conv.dilation()), dims(conv.pad()), conv.groups()};
  layer.is_direct = layer.taps == 1 && std::ranges::all_of(conv.pad(), [](int64_t pad) { return pad == 0; });
  layer.is_depthwise = w[1] == 1 && w[0] == conv.groups() && conv.groups() > 1;
  return layer;
}

Layer linear_layer(Body& body, const ops::IntegerLinear& linear) {
  const Dims& w = linear.w().dims();
  Layer layer{linear, linear.x(), linear.out(), {}, {}, w[0], w[1], 1, linear.x_zero_point(), {}, true, false};
  layer.w = codes_of(body.contents(linear.w()));
  layer.window = {{1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, 1};
  return layer;
}

/// Returns the largest magnitude of a code of that type.
int64_t largest(DType dtype) {
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  return is_signed(dtype) ? int64_t{1} << (bits - 1) : (int64_t{1} << bits) - 1;
}

/// Folds the contribution of x's zero point into the bias. Returns whether sums fit in 32 bits in any order of
/// additions.
bool fold_zero_point(Layer& layer) {
  bool fits = true;
  for (int64_t o = 0; o < layer.outputs; ++o) {
    int64_t sum = 0, magnitudes = 0;
    for (int64_t k = 0; k < layer.length(); ++k) {
      const int64_t w = layer.w[static_cast<size_t>(o * layer.length() + k)];
      sum += w;
      magnitudes += std::abs(w);
    }
    int64_t& bias = layer.bias[static_cast<size_t>(o)];
    bias -= layer.x_zero * sum;
    fits = fits && std::abs(bias) + magnitudes * largest(layer.x.dtype()) <= kMostWhole;
    bias = static_cast<int32_t>(static_cast<uint32_t>(bias));
  }
  return fits;
}

/// Returns the bits of a stored weight: the smallest of 2, 4 and 8 that holds all weights.
int weight_bits(const std::vector<int64_t>& w) {
  const auto [low, high] = std::ranges::minmax(w);
  if (low >= -2 && high <= 1) return 2;
  return low >= -8 && high <= 7 ? 4 : 8;
}

/// Packs rows of `length` codes into bytes, each row separately.
std::vector<int64_t> packed(const std::vector<int64_t>& w, int64_t length, int bits) {
  const int64_t in_byte = 8 / bits;
  std::vector<int64_t> bytes;
  for (size_t row = 0; row < w.size(); row += static_cast<size_t>(length)) {
    for (int64_t k = 0; k < length; k += in_byte) {
      int64_t byte = 0;
      for (int64_t i = 0; i < std::min(in_byte, length - k); ++i)
        byte |= (w[row + static_cast<size_t>(k + i)] & ((int64_t{1} << bits) - 1)) << (i * bits);
      bytes.push_back(byte);
    }
  }
  return bytes;
}

/// Adds the weights in flash, in rows of `length`, followed by `spare` zeros.
std::string weights_object(Body& body, const Layer& layer, const std::vector<int64_t>& w, int64_t length, int bits,
                           int64_t spare = 0) {
  std::vector<int64_t> stored = bits == 8 ? w : packed(w, length, bits);
  stored.resize(stored.size() + static_cast<size_t>(spare));
  body.weight_bytes += stored.size();
  return body.numbers(name_of(layer.op.name(), "w"), bits == 8 ? "int8_t" : "uint8_t", stored, 1);
}

std::string zero_text(const Layer& layer) { return c_number(layer.x_zero); }

/// Returns the template words that both kinds of layers share.
Words layer_words(Body& body, const Layer& layer, const Scale& scale, int bits, bool fits) {
  Words words = scale.words();
  words["x"] = c_type(layer.x.dtype());
  words["y"] = c_type(layer.y.dtype());
  words["w"] = bits == 8 ? "int8_t" : "uint8_t";
  words["x_tag"] = tag(layer.x.dtype());
  words["y_tag"] = tag(layer.y.dtype());
  words["sum"] = fits ? "int32_t" : "uint32_t";
  words["signed"] = fits ? "" : "wrapped";
  words["dot_tag"] = words["x_tag"] + (fits ? "" : "_wrapping");
  words["packing"] = bits == 8 ? "" : fmt::format(", {} in a byte", 8 / bits);
  words["unpacked_argument"] = bits == 8 ? "" : ", int8_t *unpacked";
  if (!fits) body.kernels.use("scalar/wrapped");
  if (bits != 8) body.kernels.use(fmt::format("unpack{}", bits));
  return words;
}

std::string function_name(const std::string& kind, const Words& words, int bits) {
  return fmt::format("{}_{}_w{}_{}_{}", kind, words.at("dot_tag"), bits, words.at("y_tag"), words.at("code").substr(5));
}

/// Adds the code that repeats the tables of a scale for several pixels, and that unpacks rows of packed weights.
void add_conv_words(Words& words, const Scale& scale, int bits) {
  for (const Scale::Table& table : scale.tables) {
    words["table_arrays"] += fmt::format("    {} repeated_{}[lanes];\n", table.type, table.field);
    words["fill_tables"] += fmt::format("        repeated_{0}[r] = q->{0}[r % outputs];\n", table.field);
    words["take_tables"] += fmt::format("    repeated.{0} = repeated_{0};\n", table.field);
  }
  const std::string indent(28, ' ');
  if (bits == 8) {
    words["together"] = "fit < most_pixels ? fit : most_pixels";
    words["sums"] = "1";
    words["row_bytes"] = words["clear_rows"] = "";
    words["take_rows"] = indent + "const int8_t *const taken = w + (first + r) * length;\n";
    return;
  }
  words["together"] = "most_pixels";
  words["sums"] = "most_pixels";
  words["row_bytes"] = fmt::format("    const int32_t row_bytes = (length + {}) / {};\n", 8 / bits - 1, 8 / bits);
  words["clear_rows"] = "    for (r = 0; r < most_rows * length + block; ++r) unpacked[r] = 0;\n";
  words["take_rows"] = fmt::format(
      "{0}const int8_t *const taken = unpacked;\n{0}int32_t k;\n{0}for (k = 0; k < rows; ++k)\n{0}    unpack{1}(w + "
      "(first + r + k) * row_bytes, length, unpacked + k * length);\n",
      indent, bits);
}

void add_conv(Body& body, const Layer& layer, const Scale& scale, bool fits) {
  const int bits = weight_bits(layer.w);
  Words words = layer_words(body, layer, scale, bits, fits);
  words["lanes"] = std::to_string(kLanes);
  words["pixels"] = std::to_string(kPixels);
  words["rows"] = std::to_string(kRows);
  words["conv"] = function_name("conv", words, bits);
  add_conv_words(words, scale, bits);
  for (const char* kernel : {"window", "block", "copy", "patch", "dot", "conv"}) body.kernels.use(kernel, words);
  const std::string window = window_object(body, layer.op, layer.x, layer.y, layer.window);
  const int64_t whole = round_up(layer.length(), kBlock);
  const std::string w =
      weights_object(body, layer, layer.w, layer.length(), bits, bits == 8 ? whole - layer.length() : 0);
  const std::string bias = body.numbers(name_of(layer.op.name(), "b"), "int32_t", layer.bias, 4);
  const std::string x = body.read(layer.x), y = body.write(layer.y);
  const int64_t fit = layer.window.groups == 1 ? kLanes / layer.outputs : 1;
  const int64_t pixels = bits == 8 ? std::clamp<int64_t>(fit, 1, kPixels) : kPixels;
  const std::string patches = layer.is_direct && whole == layer.length()
                                  ? "NULL"
                                  : body.scratch(name_of(layer.op.name(), "patch"), layer.x.dtype(), pixels * whole);
  std::string call = fmt::format("{}({}, {}, {}, {}, {}, {}, {}, {}", words["conv"], x, y, window, zero_text(layer), w,
                                 bias, scale.object, patches);
  if (bits != 8)
    call += ", " + body.scratch(name_of(layer.op.name(), "rows"), DType::i8, kRows * layer.length() + kBlock);
  body.say(call + ");");
}

void add_depthwise(Body& body, const Layer& layer, const Scale& scale, bool fits) {
  std::vector<int64_t> w(layer.w.size());
  for (int64_t k = 0; k < static_cast<int64_t>(w.size()); ++k)
    w[static_cast<size_t>(k % layer.taps * layer.outputs + k / layer.taps)] = layer.w[static_cast<size_t>(k)];
  const int bits = weight_bits(w);
  Words words = layer_words(body, layer, scale, bits, fits);
  words["lanes"] = std::to_string(kLanes);
  words["tap"] = "int8_t";
  words["tap_step"] = bits == 8 ? "channels" : "lanes";
  words["taken"] = bits == 8 ? "w + first" : "unpacked";
  words["tap_index"] = bits == 8 ? "" : ", t";
  words["row_bytes"] = fmt::format(
      "{}",
      bits == 8 ? "" : fmt::format("    const int32_t row_bytes = (channels + {}) / {};\n", 8 / bits - 1, 8 / bits));
  words["take_taps"] =
      bits == 8 ? ""
                : fmt::format(
                      "        for (t = 0; t < taps; ++t)\n            unpack{}(w + t * row_bytes + first / {}, "
                      "count, unpacked + t * lanes);\n",
                      bits, 8 / bits);
  words["taps"] = bits == 8 ? "" : "    const int32_t taps = s->kernel_height * s->kernel_width;\n";
  words["conv"] = function_name("depthwise", words, bits);
  body.kernels.use("window");
  body.kernels.use("depthwise", words);
  const std::string window = window_object(body, layer.op, layer.x, layer.y, layer.window);
  const std::string stored = weights_object(body, layer, w, layer.outputs, bits);
  const std::string bias = body.numbers(name_of(layer.op.name(), "b"), "int32_t", layer.bias, 4);
  const std::string x = body.read(layer.x), y = body.write(layer.y);
  std::string call = fmt::format("{}({}, {}, {}, {}, {}, {}, {}", words["conv"], x, y, window, zero_text(layer), stored,
                                 bias, scale.object);
  if (bits != 8) call += ", " + body.scratch(name_of(layer.op.name(), "taps"), DType::i8, layer.taps * kLanes);
  body.say(call + ");");
}

}  // namespace

void add_layer(Body& body, Op op) {
  Layer layer = op.is<ops::IntegerConv2d>() ? conv_layer(body, ops::IntegerConv2d(op.node()))
                                            : linear_layer(body, ops::IntegerLinear(op.node()));
  layer.bias.assign(static_cast<size_t>(layer.outputs), 0);
  if (!is_engine(op)) {  // engines have the bias in the scale
    const auto bias = body.contents(op.in(op.info().input("b"))).data<int32_t>();
    layer.bias.assign(bias.begin(), bias.end());
  }
  const bool fits = fold_zero_point(layer);
  const Scale scale = layer_scale(body, op);
  layer.is_depthwise ? add_depthwise(body, layer, scale, fits) : add_conv(body, layer, scale, fits);
}

}  // namespace halfstep::formats::c
