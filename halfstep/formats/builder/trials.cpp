#include "halfstep/formats/builder/trials.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/op_info.h"

namespace halfstep::formats {
namespace {

/// Trial values of dynamic extents. Tables of positions need small numbers, windows need large ones.
constexpr std::array<Tried, 4> kTries = {{{2, 3, 7, 5, 11, 4, 252, 253, 254, 255, 256, 257, 258, 259},
                                          {3, 5, 12, 48, 200, 1000, 4092, 4093, 4094, 4095, 4096, 4097, 4098, 4099},
                                          {4, 9, 6, 20, 77, 301, 2044, 2045, 2046, 2047, 2048, 2049, 2050, 2051},
                                          {6, 8, 10, 33, 130, 520, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 1027}}};
constexpr size_t kSmall = 6;  ///< the first numbers are small
constexpr int kEnough = 3;

/// Returns dynamic extent `number` at a trial. Extents beyond the table use its numbers with different offsets, so that
/// none is the sum or product of another and a constant.
int64_t tried_at(size_t number, size_t attempt) {
  const auto round = static_cast<int64_t>(number / kTries.size());
  return kTries[number % kTries.size()][attempt] + (attempt < kSmall ? round : 8192 * round);
}

/// False for a value of a failed attempt.
bool is_in(const Graph& graph, Value value) { return graph.value(value.name()) == value; }

}  // namespace

bool agree(const Tried& a, const Tried& b) {
  int both = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == kRefused || b[i] == kRefused) continue;
    if (a[i] != b[i]) return false;
    ++both;
  }
  return both >= kEnough;
}

Tried always(int64_t number) {
  Tried tried;
  tried.fill(number);
  return tried;
}

std::optional<int64_t> constant(const Tried& tried) {
  const auto known = std::ranges::find_if(tried, [](int64_t number) { return number != kRefused; });
  return known != tried.end() && agree(tried, always(*known)) ? std::optional(*known) : std::nullopt;
}

void Trials::add_argument(Value argument, const std::vector<std::string>& names) {
  const Type& type = argument.type();
  if (type.is_static()) return;
  Types tried;
  tried.fill(type);
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    if (type.dims[axis] != kUnknown) continue;
    const std::string name = axis < names.size() && !names[axis].empty() ? names[axis] : fmt::format("axis {}", axis);
    const size_t number = numbers_.emplace(name, axis == 0 ? 0 : next_number_).first->second;
    if (number == next_number_) ++next_number_;
    for (size_t i = 0; i < tried.size(); ++i) tried[i]->dims[axis] = tried_at(number, i);
  }
  remember(argument, tried);
}

void Trials::add(Op op) {
  const std::vector<Value> results = op.results();
  if (std::ranges::all_of(results, [](Value value) { return !value || value.type().is_static(); })) return;
  const std::vector<Value> operands = op.operands();
  std::vector<Types> known(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) continue;
    const auto types = types_of(operands[i]);
    if (!types) return;
    known[i] = *types;
  }
  std::vector<Types> tried(op.info().outputs.size());
  for (size_t number = 0; number < std::tuple_size_v<Tried>; ++number) {
    std::vector<const Type*> in;
    bool is_live = true;
    for (size_t i = 0; i < operands.size(); ++i) {
      in.push_back(operands[i] && known[i][number] ? &*known[i][number] : nullptr);
      is_live = is_live && (!operands[i] || known[i][number]);
    }
    if (!is_live) continue;
    try {
      const OpSite site{op.name(), op.info(), in, op.attributes()};
      const std::vector<Type> types = check_site(site, [](size_t) { return std::string(); });
      for (size_t port = 0; port < tried.size(); ++port) tried[port][number] = types[port];
    } catch (const Error&) {
      continue;  // the record rejects these extents
    }
  }
  for (const Value result : results) {
    if (result) remember(result, tried[static_cast<size_t>(result.port())]);
  }
}

Tried Trials::draw() {
  /// In the order of kTries.
  constexpr std::array<uint64_t, std::tuple_size_v<Tried>> kBelow = {6,   10,  20,   60,   250,  1000, 500,
                                                                     500, 500, 2000, 2000, 2000, 5000, 5000};
  for (uint64_t again = own_.size();; ++again) {
    Random random(again, 0);
    Tried tried;
    std::ranges::transform(kBelow, tried.begin(),
                           [&](uint64_t bound) { return static_cast<int64_t>(2 + random.below(bound)); });
    if (own_.insert(tried).second) return tried;
  }
}

void Trials::add(Value value, const std::vector<std::optional<Tried>>& extents) {
  if (value.type().is_static() || types_.contains(value.node())) return;
  Types types;
  types.fill(value.type());
  for (size_t axis = 0; axis < value.dims().size(); ++axis) {
    if (value.dims()[axis] != kUnknown) continue;
    const Tried tried = axis < extents.size() && extents[axis] ? *extents[axis] : draw();
    for (size_t i = 0; i < tried.size(); ++i) {
      if (tried[i] == kRefused)
        types[i].reset();
      else if (types[i])
        types[i]->dims[axis] = tried[i];
    }
  }
  remember(value, types);
}

void Trials::remember(Value value, const Types& types) {
  if (!types_.emplace(value.node(), types).second) return;
  for (size_t axis = 0; axis < value.dims().size(); ++axis) {
    if (value.dims()[axis] != kUnknown) continue;
    const Tried tried = *extent(value, axis);
    const auto [place, is_new] = places_.emplace(std::pair(tried, value.block()), extents_.size());
    if (is_new) extents_.push_back({tried, {value, axis}});
    OpenAxis& first = extents_[place->second].second;
    if (!is_in(value.block()->graph(), first.value)) first = {value, axis};
  }
}

std::optional<Trials::Types> Trials::types_of(Value value) const {
  const auto found = types_.find(value.node());
  if (found != types_.end()) return found->second;
  if (!value.type().is_static()) return std::nullopt;
  Types same;
  same.fill(value.type());
  return same;
}

namespace {

/// Returns `measure` of the type at each trial.
template <class Types, class Measure>
std::optional<Tried> each(const std::optional<Types>& types, Measure measure) {
  if (!types) return std::nullopt;
  Tried tried;
  std::ranges::transform(*types, tried.begin(), [&](const auto& type) { return type ? measure(*type) : kRefused; });
  return tried;
}

}  // namespace

std::optional<Tried> Trials::extent(Value value, size_t axis) const {
  return each(types_of(value), [axis](const Type& type) { return type.dims[axis]; });
}

std::optional<Tried> Trials::elements(Value value) const {
  return each(types_of(value), [](const Type& type) { return count_elements(type.dims); });
}

std::vector<std::pair<Tried, OpenAxis>> Trials::seen_from(const Block& block) const {
  std::set<const Block*> blocks = {&block};
  for (Op holder = block.parent(); holder; holder = holder.node()->block->parent()) blocks.insert(holder.node()->block);
  std::vector<std::pair<Tried, OpenAxis>> seen;
  for (const auto& [tried, axis] : extents_) {
    if (is_in(block.graph(), axis.value) && blocks.contains(axis.value.block())) seen.emplace_back(tried, axis);
  }
  return seen;
}

std::optional<OpenAxis> Trials::find(const Tried& extent, const Block& block) const {
  for (const auto& [tried, axis] : seen_from(block)) {
    if (agree(tried, extent)) return axis;
  }
  return std::nullopt;
}

}  // namespace halfstep::formats
