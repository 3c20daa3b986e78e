#include "halfstep/fuzz/networks/maker.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/formats/onnx_export/export_graph.h"

namespace halfstep::fuzz {
namespace {

namespace onnx = formats::onnx;

constexpr size_t kMostInputs = 5;
constexpr double kHuge = 1e30;

/// Names that Halfstep could generate, and others that are easy to confuse.
const std::vector<std::string> kHostile = {"conv1.q",  "x.real", "P.average", "y.q.real", "bn1.scale",     "loss",
                                           "batch",    "0",      "a b",       "x/y:0",    "\xc3\xa9",      "\"q\"",
                                           "quantize", "out",    "%1",        "x.q.q",    "learning_rate", "momentum",
                                           "step",     "labels", "x,y",       "(",        "weight.codes"};
/// The most frequent ones are listed more than once.
const std::vector<std::string> kHostileEnds = {
    ".q",      ".q",          ".q",       ".q.real",   ".q.real",   ".q.real", ".observer", ".real",
    ".q.real", ".scale",      ".average", ".1",        ".bias",     ".shift",  ".codes",    ".w",
    ".2",      ".zero_point", ".table",   ".observer", ".gradient", ".max",    ".min"};

int64_t tensor_limit(double low, double high) { return static_cast<int64_t>(std::clamp(high - low + 1, 1.0, 1e9)); }

}  // namespace

Known Known::with(Dims other) const {
  Known result = *this;
  result.dims = std::move(other);
  return result;
}

Known Known::with(DType other) const {
  Known result = *this;
  result.dtype = other;
  return result;
}

Known Known::between(double lowest, double highest) const {
  Known result = *this;
  result.low = std::clamp(lowest, -kHuge, kHuge);
  result.high = std::clamp(highest, -kHuge, kHuge);
  return result;
}

Maker::Maker(uint64_t seed, const Style& style) : random_(seed, 14), style_(style) {
  network_.model.set_ir_version(std::max<int64_t>(onnx::ir_version_of(style.opset), 8));
  network_.model.mutable_graph()->set_name("fuzz");
  network_.plain = style.plain;
  network_.rows = style.rows;
  network_.dynamic_batch = style.dynamic_batch;
  network_.batch = style.batch;
}

int64_t Maker::between(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random_.below(static_cast<uint64_t>(high - low + 1)));
}

double Maker::real(double low, double high) { return low + (high - low) * random_.uniform(); }

int64_t Maker::extent() {
  if (!style_.plain && chance(0.03)) return 0;
  if (chance(0.15)) return 1;
  return between(1, style_.widest);
}

Dims Maker::some_dims(int64_t rank, int64_t most) {
  Dims dims(static_cast<size_t>(rank));
  int64_t count = 1;
  for (int64_t& d : dims) {
    d = extent();
    if (count * d > most) d = std::max<int64_t>(most / count, 1);
    count *= std::max<int64_t>(d, 1);
  }
  return dims;
}

std::vector<const Known*> Maker::suited(const Want& want) const {
  std::vector<const Known*> found;
  for (const Known& value : pool_) {
    if (std::ranges::find(want.dtypes, value.dtype) == want.dtypes.end()) continue;
    if (value.rank() < want.least_rank || value.rank() > want.most_rank) continue;
    if (!want.fits || want.fits(value)) found.push_back(&value);
  }
  return found;
}

Known Maker::there(const Want& want) {
  const auto found = suited(want);
  require(!found.empty());
  // The later of two values, so that networks become deep rather than wide.
  const size_t a = random_.below(found.size()), b = random_.below(found.size());
  return *found[std::max(a, b)];
}

Known Maker::any(const Want& want) {
  const bool may_add = inputs_.size() < kMostInputs;
  if (may_add && chance(inputs_.size() < 2 ? 0.1 : 0.03)) return fitting_input(want);
  if (!suited(want).empty()) return there(want);
  require(may_add);
  return fitting_input(want);
}

Known Maker::fitting_input(const Want& want) {
  constexpr int kTries = 60;
  const int64_t least = std::max<int64_t>(want.least_rank, style_.rows || (style_.same_batch && style_.plain) ? 1 : 0);
  require(least <= want.most_rank);
  for (int i = 0; i < kTries; ++i) {
    Known value;
    value.dtype = style_.plain ? want.dtypes.front() : one_of(want.dtypes);
    value.dims = some_dims(between(least, std::max(least, std::min<int64_t>(want.most_rank, 4))));
    value.rows = style_.rows && value.rank() > 0;
    if ((style_.rows || style_.same_batch) && value.rank() > 0) value.dims[0] = style_.batch;
    if (want.fits && !want.fits(value)) continue;
    return input(value.dtype, value.dims);
  }
  throw Unsuited();
}

Known Maker::any_between(const Want& want, double low, double high) {
  Known x = any(want);
  const bool fits = x.low >= low && x.high <= high;
  if (fits || chance(0.1)) return x;
  const auto through = [&](const char* op, const std::function<double(double)>& f) {
    const auto [lowest, highest] = image_of(f, x.low, x.high);
    return node(op, {x}, x.between(lowest, highest));
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  if (low < 0) return through("Tanh", [](double v) { return std::tanh(v); });
  if (high >= 1 && low <= 0.01) return through("Sigmoid", sigmoid);
  x = through("Sigmoid", sigmoid);
  return node("Exp", {x}, x.between(1, 2.72));
}

Tensor Maker::random_tensor(DType dtype, const Dims& dims, double low, double high, bool varied) {
  Tensor tensor(dtype, dims);
  const int64_t kinds = is_float(dtype) && !varied ? between(0, 9) : 5;
  const double one = real(low, high);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value = real(low, high);
    if (kinds == 0) value = one;                                        // all elements equal
    if (kinds == 1 && chance(0.5)) value = std::clamp(0.0, low, high);  // half of the elements zero
    if (!is_float(dtype))
      value = std::floor(low + static_cast<double>(random_.below(static_cast<uint64_t>(tensor_limit(low, high)))));
    set_element(tensor, i, value);
  }
  return tensor;
}

std::string Maker::fresh_name(std::string_view op) {
  std::string name;
  for (int attempt = 0; attempt == 0 || names_.contains(name); ++attempt) {
    const std::string number = std::to_string(names_.size() + static_cast<size_t>(attempt));
    name = std::string(op) + number;
    if (!style_.hostile_names || attempt > 3 || chance(0.3)) continue;
    name = one_of(kHostile);
    if (chance(0.7) && !pool_.empty()) name = one_of(pool_).name + one_of(kHostileEnds);
  }
  names_.insert(name);
  return name;
}

Known Maker::remember(Known value) {
  pool_.push_back(value);
  return value;
}

Known Maker::input(DType dtype, Dims dims, double low, double high) {
  if (dtype == DType::boolean) low = 0, high = 1;
  if (!is_float(dtype) && dtype != DType::boolean) low = std::ceil(low), high = std::floor(high);
  if (dtype == DType::u8 || dtype == DType::u32 || dtype == DType::u64) low = std::max(low, 0.0);
  Known value{fresh_name("x"), dtype, std::move(dims), low, high};
  value.rows = style_.rows && !value.dims.empty();
  inputs_.push_back({value, low, high});
  return remember(value);
}

Known Maker::open_input(Dims dims, std::vector<size_t> open, Dims other) {
  Known value = input(DType::f32, std::move(dims));
  inputs_.back().open = std::move(open);
  inputs_.back().other = std::move(other);
  forget(value);
  return value;
}

Known Maker::contents(const Tensor& tensor, double low, double high) {
  Known value{fresh_name("w"), tensor.dtype(), tensor.dims(), low, high};
  value.constant = true;
  auto& graph = *network_.model.mutable_graph();
  if (chance(0.85) || opset() < 9) {
    onnx::write_tensor(value.name, tensor, *graph.add_initializer());
    return value;
  }
  auto& constant = *graph.add_node();
  constant.set_op_type("Constant");
  constant.set_name(fresh_name("Constant"));
  constant.add_output(value.name);
  auto& attribute = *constant.add_attribute();
  attribute.set_name("value");
  attribute.set_type(4);  // AttributeProto.TENSOR
  onnx::write_tensor("", tensor, *attribute.mutable_t());
  return value;
}

Known Maker::weights(DType dtype, Dims dims, double low, double high) {
  if (chance(0.08)) {
    const bool any = low <= 0 && high >= 0;  // false for a divisor, which must stay in its range
    const auto shared = suited({{dtype}, 0, 5, [&](const Known& v) {
                                  return v.constant && v.dims == dims && (any || (v.low >= low && v.high <= high));
                                }});
    if (!shared.empty()) return one_of(shared)->between(low, high);
  }
  Known value = contents(random_tensor(dtype, dims, low, high), low, high);
  if (dtype == DType::f32 && chance(0.03)) value = node("Neg", {value}, value.between(-high, -low));
  if (dtype == DType::f32 && chance(0.03)) value = node("Mul", {value, scalar(0.5)}, value.between(low / 2, high / 2));
  if (chance(0.3)) remember(value);  // other nodes may share it
  return value;
}

Known Maker::parameter(Dims dims, double low, double high) {
  if (style_.rows || !chance(style_.plain ? 0.01 : 0.1)) return weights(DType::f32, std::move(dims), low, high);
  Dims several = dims;
  several.insert(several.begin(), style_.batch);
  const Known value = input(DType::f32, several, low, high);
  return node("Gather", {value, scalar(0, DType::i64, {})}, value.with(dims));
}

Known Maker::ints(const std::vector<int64_t>& values, DType dtype) {
  const Dims dims = {static_cast<int64_t>(values.size())};
  if (dtype == DType::i64)
    return contents(Tensor::of<int64_t>(dtype, dims, values), 0, 1);  // a double cannot represent all of them
  Tensor tensor(dtype, dims);
  for (size_t i = 0; i < values.size(); ++i)
    set_element(tensor, static_cast<int64_t>(i), static_cast<double>(values[i]));
  return contents(tensor, 0, 1);
}

Known Maker::scalar(double value, DType dtype) {
  return scalar(value, dtype, is_float(dtype) && chance(0.3) ? Dims{1} : Dims{});
}

Known Maker::scalar(double value, DType dtype, Dims dims) {
  if (!is_float(dtype)) value = std::floor(value);
  Tensor tensor(dtype, std::move(dims));
  set_element(tensor, 0, value);
  return contents(tensor, value, value);
}

formats::onnx::proto::Node& Maker::last_node() {
  auto& graph = *network_.model.mutable_graph();
  return *graph.mutable_node(graph.node_size() - 1);
}

std::vector<Known> Maker::nodes(std::string_view op, const std::vector<Known>& inputs, std::vector<Known> results,
                                const Attributes& attributes, const std::string& domain) {
  bool rows = style_.rows, constant = true;
  for (const Known& in : inputs) {
    if (in.name.empty() || in.constant) continue;
    constant = false;
    rows = rows && in.rows;
  }
  for (Known& result : results) {
    if (result.name == "-") continue;
    result.constant = constant;
    result.rows = rows && !constant && op != "Shape" && !result.dims.empty() && result.dims[0] == style_.batch;
    result.name = fresh_name(op);
  }
  auto& node = *network_.model.mutable_graph()->add_node();
  node.set_op_type(std::string(op));
  node.set_name(style_.hostile_names && chance(0.2) ? one_of(kHostile) + std::to_string(names_.size())
                                                    : fresh_name("node_" + std::string(op)));
  if (!domain.empty()) node.set_domain(domain);
  domains_.insert(domain);
  size_t used = inputs.size();
  while (used > 0 && inputs[used - 1].name.empty()) --used;
  for (size_t i = 0; i < used; ++i) {
    node.add_input(inputs[i].name);
    read_.insert(inputs[i].name);
  }
  for (const Known& result : results) node.add_output(result.name == "-" ? "" : result.name);
  for (const auto& [name, value] : attributes) onnx::write_attribute(name, value, *node.add_attribute());
  for (const Known& result : results) {
    if (result.name == "-") continue;
    network_.values[result.name] = {{result.dtype, result.dims}, result.low, result.high, result.rows};
    remember(result);
  }
  return results;
}

Known Maker::node(std::string_view op, const std::vector<Known>& inputs, const Known& result,
                  const Attributes& attributes, const std::string& domain) {
  return nodes(op, inputs, {result}, attributes, domain).front();
}

void Maker::forget(const Known& value) {
  std::erase_if(pool_, [&](const Known& known) { return known.name == value.name; });
}

int64_t Maker::axis(const Known& x) {
  const int64_t first = keeps_rows(x) ? 1 : 0;
  require(x.rank() > first);
  return between(first, x.rank() - 1);
}

void Maker::add_output(const Known& value) {
  if (!outputs_.insert(value.name).second) return;
  Type type{value.dtype, value.dims};
  if (value.rows && style_.dynamic_batch) type.dims[0] = kUnknown;
  onnx::write_type(value.name, type, *network_.model.mutable_graph()->add_output());
}

void Maker::add_imports() {
  domains_.insert("");
  for (const std::string& domain : domains_) {
    auto& set = *network_.model.add_opset_import();
    set.set_domain(domain);
    set.set_version(domain.empty() ? style_.opset : 1);
  }
}

/// Factors for the elements of each sample. Often some samples are eight times as large as others, like pictures of
/// dark and bright rooms.
std::vector<double> Maker::some_spread(int64_t samples) {
  std::vector<double> spread(static_cast<size_t>(samples), 1.0);
  if (!chance(0.5)) return spread;
  for (double& factor : spread) factor = std::exp2(real(-4, 0));
  return spread;
}

Tensor Maker::random_samples(const Input& input, const Dims& dims, const std::vector<double>& spread) {
  Tensor tensor = random_tensor(input.value.dtype, dims, input.low, input.high, true);
  if (spread.empty() || tensor.size() == 0 || input.low > 0 || input.high < 0) return tensor;
  const int64_t each = tensor.size() / static_cast<int64_t>(spread.size());
  for (int64_t i = 0; i < tensor.size() && is_float(tensor.dtype()); ++i)
    set_element(tensor, i, element(tensor, i) * spread[static_cast<size_t>(i / each)]);
  return tensor;
}

Network Maker::finish(int64_t samples) {
  const bool counts = (style_.rows || style_.same_batch) && !inputs_.empty() &&
                      std::ranges::none_of(inputs_, [](const Input& i) { return i.value.dims.empty(); });
  network_.samples = counts ? samples : 0;
  const std::vector<double> spread = some_spread(samples);
  const bool reopens = std::ranges::any_of(inputs_, [](const Input& i) { return !i.open.empty(); });
  for (const Input& input : inputs_) {
    Type type{input.value.dtype, input.value.dims};
    const bool dynamic_batch = style_.rows && style_.dynamic_batch;
    if (dynamic_batch) type.dims[0] = kUnknown;
    for (const size_t axis : input.open) type.dims[axis] = kUnknown;
    onnx::write_type(input.value.name, type, *network_.model.mutable_graph()->add_input());
    Dims dims = input.value.dims, other = input.open.empty() ? dims : input.other;
    if (counts) dims[0] = samples;
    if (dynamic_batch && reopens) other[0] = style_.batch + 1;
    network_.inputs.emplace(input.value.name, random_samples(input, dims, counts ? spread : std::vector<double>()));
    if (reopens) network_.elsewhere.emplace(input.value.name, random_samples(input, other, {}));
  }
  constexpr int kMostOutputs = 4;
  for (auto value = pool_.rbegin(); value != pool_.rend() && outputs_.size() < kMostOutputs; ++value) {
    const bool is_input = std::ranges::any_of(inputs_, [&](const Input& i) { return i.value.name == value->name; });
    if (value->constant || is_input || (style_.rows && !value->rows)) continue;
    if (!read_.contains(value->name) || chance(0.1)) add_output(*value);
  }
  require(!outputs_.empty());
  add_imports();
  return std::move(network_);
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) throw Unsuited();
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

std::pair<double, double> image_of(const std::function<double(double)>& f, double low, double high) {
  constexpr int kSteps = 16;
  double least = INFINITY, most = -INFINITY;
  for (int i = 0; i <= kSteps; ++i) {
    const double value = f(low + (high - low) * i / kSteps);
    if (std::isnan(value)) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  return least <= most ? std::pair(least, most) : std::pair(-1.0, 1.0);
}

}  // namespace halfstep::fuzz
