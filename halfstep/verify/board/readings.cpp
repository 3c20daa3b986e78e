// Hypotheses about correct codes in another order or another storage format.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

/// A way to decode cells.
struct Reading {
  Layout layout;
  bool turned = false;   ///< height and width are swapped
  int64_t channels = 0;  ///< channels of a pixel, including padding
  DType type = DType::u8;
  auto key() const {
    const Border& b = layout.border;
    return std::tuple(layout.order, layout.order == Order::blocks ? layout.block : 0, layout.packing, layout.offset,
                      b.top, b.bottom, b.left, b.right, layout.big_endian, turned, channels, type);
  }
};

/// Decodes the cells, and sorts the numbers into the order of evidence.dims.
Numbers read(const Evidence& evidence, const Reading& reading) {
  const ImageDims& dims = evidence.dims;
  const int64_t rows = reading.turned ? dims.w : dims.h, columns = reading.turned ? dims.h : dims.w;
  const Tensor tensor = decode(evidence.cells, reading.type, {dims.n, reading.channels, rows, columns}, reading.layout);
  if (tensor.dims()[0] != dims.n) return {};
  Numbers all = numbers_of(tensor);
  if (!reading.turned && reading.channels == dims.c) return all;
  Numbers result(evidence.size());
  for (int64_t n = 0; n < dims.n; ++n) {
    for (int64_t c = 0; c < dims.c; ++c) {
      for (int64_t h = 0; h < dims.h; ++h) {
        for (int64_t w = 0; w < dims.w; ++w) {
          const int64_t place = reading.turned ? w * columns + h : h * columns + w;
          result[static_cast<size_t>(evidence.at(n, c, h, w))] =
              all[static_cast<size_t>((n * reading.channels + c) * rows * columns + place)];
        }
      }
    }
  }
  return result;
}

bool fits(const Evidence& evidence, const Reading& reading) {
  const ImageDims& d = evidence.dims;
  const ImageDims dims{d.n, reading.channels, reading.turned ? d.w : d.h, reading.turned ? d.h : d.w};
  return dims.n * sample_bytes(dims, reading.type, reading.layout) == static_cast<int64_t>(evidence.cells.size());
}

Reading claimed(const Evidence& evidence) { return {evidence.layout, false, evidence.dims.c, evidence.type}; }

std::vector<Layout> orders_of(const Layout& claimed) {
  std::vector<Layout> all = {claimed};
  const auto add = [&](Order order, int64_t block) {
    all.push_back(claimed);
    all.back().order = order;
    all.back().block = block;
  };
  add(Order::nhwc, Layout{}.block);
  add(Order::nchw, Layout{}.block);
  for (const int64_t block : {32, 16, 8, 4, 64}) add(Order::blocks, block);
  return all;
}

std::vector<Border> borders_of(const Border& claimed) {
  std::vector<Border> all = {claimed, Border{}};
  constexpr int64_t kWidest = 4;
  for (int64_t width = 1; width <= kWidest; ++width) {  // equal sides are tried first
    for (const Border& border :
         {Border{width, width, width, width}, Border{width, 0, width, 0}, Border{0, width, 0, width},
          Border{width, 0, 0, 0}, Border{0, width, 0, 0}, Border{0, 0, width, 0}, Border{0, 0, 0, width},
          Border{width, width, 0, 0}, Border{0, 0, width, width}})
      all.push_back(border);
  }
  return all;
}

/// Borders for memory lines that are longer than the rows of the image.
std::vector<Border> lines_of(const Evidence& evidence) {
  std::vector<Border> all;
  for (const int64_t line : {4, 8, 16, 32, 64}) {
    if (const int64_t rest = evidence.dims.w % line; rest != 0) all.push_back({0, 0, 0, line - rest});
  }
  return all;
}

/// Possible numbers of channels of a pixel, including padding. In NHWC, the file size determines it.
std::vector<int64_t> channels_of(const Evidence& e) {
  std::set<int64_t> more;
  for (const int64_t multiple : {2, 4, 8, 16, 32}) more.insert((e.dims.c + multiple - 1) / multiple * multiple);
  const int64_t pixels = e.dims.n * e.dims.h * e.dims.w * static_cast<int64_t>(size_of(e.type));
  if (const auto bytes = static_cast<int64_t>(e.cells.size()); pixels > 0 && bytes % pixels == 0)
    more.insert(bytes / pixels);
  std::vector<int64_t> all = {e.dims.c};
  for (const int64_t one : more) {
    if (one > e.dims.c) all.push_back(one);
  }
  return all;
}

std::vector<DType> types_of(DType claimed) {
  std::vector<DType> all = {claimed};
  for (const DType type : {DType::u8, DType::i8, DType::i16, DType::i32, DType::f32}) {
    if (type != claimed) all.push_back(type);
  }
  return all;
}

std::string lower_nibble(Packing packing) {
  if (packing == Packing::none) return "one code in a byte";
  return packing == Packing::low_first ? "two codes in a byte, low nibble first"
                                       : "two codes in a byte, high nibble first";
}

std::string border_text(const Border& border) {
  return border.empty() ? "no border"
                        : fmt::format("a border of {} above, {} below, {} left, {} right", border.top, border.bottom,
                                      border.left, border.right);
}

/// Describes the difference between the reading and the claimed format, for example "as NHWC instead of NCHW".
std::string sentence_of(const Reading& reading, const Reading& said) {
  std::vector<std::string> parts;
  const Layout &is = reading.layout, &should = said.layout;
  const auto order = [](const Layout& layout) {
    Layout alone;
    alone.order = layout.order;
    alone.block = layout.block;
    return describe(alone);
  };
  if (order(is) != order(should)) parts.push_back(fmt::format("as {} instead of {}", order(is), order(should)));
  if (reading.turned) parts.emplace_back("with height and width swapped");
  if (is.packing != should.packing)
    parts.push_back(fmt::format("{} instead of {}", lower_nibble(is.packing), lower_nibble(should.packing)));
  if (is.offset != should.offset) parts.emplace_back("with another sign: codes are offset by half their range");
  if (is.big_endian != should.big_endian) parts.emplace_back("in the other byte order");
  if (!(is.border == should.border))
    parts.push_back(fmt::format("with {} instead of {}", border_text(is.border), border_text(should.border)));
  if (reading.channels != said.channels)
    parts.push_back(fmt::format("with channels filled up to {}", reading.channels));
  if (reading.type != said.type)
    parts.push_back(fmt::format("as {} instead of {}", halfstep::name(reading.type), halfstep::name(said.type)));
  std::string text = "written ";
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : ", ") + parts[i];
  return text;
}

/// The properties that a hypothesis of this table varies.
struct Freedom {
  bool order = false, turned = false, packing = false, offset = false, bytes = false, border = false, type = false;
};

class Enumeration {
 public:
  Enumeration(const Evidence& evidence, Verdicts& verdicts, Freedom free)
      : evidence_(evidence), verdicts_(verdicts), free_(free), said_(claimed(evidence)) {}

  void run() {
    const bool narrow = evidence_.entry.codes && evidence_.entry.codes->bits() <= 4;
    for (const DType type : free_.type ? types_of(said_.type) : std::vector{said_.type}) {
      for (const Layout& order : free_.order ? orders_of(said_.layout) : std::vector{said_.layout}) {
        for (const Packing packing : {Packing::none, Packing::low_first, Packing::high_first}) {
          if (packing != order.packing && !(free_.packing && narrow)) continue;
          Reading reading = said_;
          reading.layout = order;
          reading.layout.packing = packing;
          reading.type = type;
          with_sides(reading);
        }
      }
    }
  }

 private:
  void with_sides(Reading reading) {
    auto borders = free_.border ? borders_of(said_.layout.border) : std::vector{said_.layout.border};
    if (free_.border) {
      const auto lines = lines_of(evidence_);
      borders.insert(borders.end(), lines.begin(), lines.end());
    }
    for (const Border& border : borders) {
      for (const int64_t channels : free_.border ? channels_of(evidence_) : std::vector{said_.channels}) {
        for (const bool turned : {false, true}) {
          if (turned && (!free_.turned || evidence_.dims.h * evidence_.dims.w == 1)) continue;
          reading.layout.border = border;
          reading.channels = channels;
          reading.turned = turned;
          with_bits(reading);
        }
      }
    }
  }

  void with_bits(Reading reading) {
    const bool whole = !is_float(reading.type) && size_of(reading.type) <= 2;
    for (const bool offset : {said_.layout.offset, !said_.layout.offset}) {
      if (offset != said_.layout.offset && !(free_.offset && whole)) continue;
      for (const bool big : {said_.layout.big_endian, !said_.layout.big_endian}) {
        if (big != said_.layout.big_endian && !(free_.bytes && size_of(reading.type) > 1)) continue;
        reading.layout.offset = offset;
        reading.layout.big_endian = big;
        consider(reading);
      }
    }
  }

  void consider(const Reading& reading) {
    if (reading.key() == said_.key() || !seen_.insert(reading.key()).second || !fits(evidence_, reading)) return;
    verdicts_.reading(sentence_of(reading, said_), read(evidence_, reading));
  }

  const Evidence& evidence_;
  Verdicts& verdicts_;
  Freedom free_;
  Reading said_;
  std::set<decltype(Reading{}.key())> seen_;
};

void other_order(const Evidence& evidence, Verdicts& verdicts) {
  Enumeration(evidence, verdicts, {.order = true}).run();
}
void turned(const Evidence& evidence, Verdicts& verdicts) { Enumeration(evidence, verdicts, {.turned = true}).run(); }
void nibbles(const Evidence& evidence, Verdicts& verdicts) { Enumeration(evidence, verdicts, {.packing = true}).run(); }
void sign(const Evidence& evidence, Verdicts& verdicts) { Enumeration(evidence, verdicts, {.offset = true}).run(); }
void byte_order(const Evidence& evidence, Verdicts& verdicts) {
  Enumeration(evidence, verdicts, {.bytes = true}).run();
}
void border(const Evidence& evidence, Verdicts& verdicts) { Enumeration(evidence, verdicts, {.border = true}).run(); }
void element_type(const Evidence& evidence, Verdicts& verdicts) {
  Enumeration(evidence, verdicts, {.type = true}).run();
}

/// Several properties at once.
void several(const Evidence& evidence, Verdicts& verdicts) {
  if (verdicts.proved()) return;
  Enumeration(evidence, verdicts, {true, true, true, true, true, true, !evidence.has_found()}).run();
}

/// Numbers of an array with the same bits, but a type of the other signedness.
void array_sign(const Evidence& evidence, Verdicts& verdicts) {
  if (!evidence.has_found() || !evidence.entry.codes) return;
  for (const double range : {16.0, 256.0, 65536.0}) {
    Numbers wrapped = evidence.found;
    for (double& value : wrapped) {
      if (value < evidence.lowest()) value += range;
      if (value > evidence.highest()) value -= range;
    }
    verdicts.reading("read with another sign: the same bits", wrapped);
    for (size_t i = 0; i < wrapped.size(); ++i) wrapped[i] = evidence.found[i] + range / 2;
    verdicts.reading(fmt::format("codes minus {}", range / 2), wrapped);
    for (size_t i = 0; i < wrapped.size(); ++i) wrapped[i] = evidence.found[i] - range / 2;
    verdicts.reading(fmt::format("codes plus {}", range / 2), wrapped);
  }
}

}  // namespace

const std::vector<Hypothesis>& readings() {
  static const std::vector<Hypothesis> kAll = {
      {"order", other_order}, {"height_width", turned},       {"nibbles", nibbles},
      {"sign", sign},         {"sign", array_sign},           {"byte_order", byte_order},
      {"border", border},     {"element_type", element_type}, {"several", several}};
  return kAll;
}

}  // namespace halfstep::board
