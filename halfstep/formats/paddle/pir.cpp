#include "halfstep/formats/paddle/pir.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/protobuf_wire.h"
#include "halfstep/formats/paddle/errors.h"
#include "halfstep/formats/paddle/types.h"

namespace halfstep::formats::paddle {
namespace {

using Json = nlohmann::json;

/// Maximum nesting of brackets and of regions, which bounds the recursion of this reader and of the JSON reader.
constexpr int kMaxDepth = 256, kMaxRegions = 32;
constexpr size_t kMaxBytes = size_t{256} << 20;
/// Newest supported version of the operator description. Later versions may rename operators.
constexpr int64_t kNewestVersion = 6;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Throws for brackets that are nested too deep, before parsing.
void check_depth(std::string_view text, const std::string& name) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) fail(errors::json_too_deep(fmt::format("{}: byte {}", name, i), "brackets", kMaxDepth));
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

Json parse(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes) fail(errors::json_too_large(name, text.size(), kMaxBytes));
  check_depth(text, name);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    fail(errors::json_damaged(name, error.byte));
  }
}

/// A JSON value and its position.
class Item {
 public:
  Item(const Json& json, std::string where) : json_(&json), where_(std::move(where)) {}

  const std::string& where() const { return where_; }
  Item at(const std::string& where) const { return {*json_, where}; }
  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  Item operator[](const char* key) const {
    if (!has(key)) fail(errors::json_key_missing(where_, key));
    return {(*json_)[key], where_};
  }

  std::vector<Item> list(const char* what) const {
    if (!json_->is_array()) wrong(what);
    std::vector<Item> items;
    for (const Json& item : *json_) items.emplace_back(item, where_);
    return items;
  }

  int64_t integer(const char* what) const {
    if (!json_->is_number_integer() || (json_->is_number_unsigned() && json_->get<uint64_t>() > INT64_MAX)) wrong(what);
    return json_->get<int64_t>();
  }
  /// Accepts numbers, and words for values that JSON cannot represent.
  double number(const char* what) const {
    if (json_->is_number()) return json_->get<double>();
    double value = 0;
    const std::string& word = text(what);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) wrong(what);
    return value;
  }
  bool boolean(const char* what) const {
    if (!json_->is_boolean()) wrong(what);
    return json_->get<bool>();
  }
  const std::string& text(const char* what) const {
    if (!json_->is_string()) wrong(what);
    return json_->get_ref<const std::string&>();
  }

 private:
  [[noreturn]] void wrong(const char* what) const {
    constexpr size_t kShown = 60;
    std::string shown = json_->dump(-1, ' ', true, Json::error_handler_t::replace);
    if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
    fail(errors::json_value_wrong(where_, shown, what));
  }

  const Json* json_;
  std::string where_;
};

std::vector<int64_t> integers(const Item& data) {
  std::vector<int64_t> list;
  for (const Item& item : data.list("integers")) list.push_back(item.integer("an integer"));
  return list;
}

/// Returns Halfstep's name for a type such as "float32" or "1.a_dtype", or "" for no particular type.
std::string dtype_word(const std::string& word) {
  const ElementType* type = find_type_by_name(word);
  if (type == nullptr) return word.starts_with("Undefined") ? "" : word;
  return type->ours.empty() ? word : std::string(type->ours);
}

Attribute attribute_of(const Item& type);

/// Returns a list of numbers, booleans or words. All elements have the kind of the first.
Attribute list_of(const Item& data) {
  const std::vector<Item> items = data.list("a list");
  if (items.empty()) return std::vector<int64_t>();
  const Attribute first = attribute_of(items[0]);
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> words;
  for (const Item& item : items) {
    const Attribute value = attribute_of(item);
    if (value.index() != first.index())
      fail(errors::json_value_wrong(item.where(), "values of several types in one list", "one type"));
    if (const auto* b = std::get_if<bool>(&value)) integers.push_back(*b);
    if (const auto* i = std::get_if<int64_t>(&value)) integers.push_back(*i);
    if (const auto* d = std::get_if<double>(&value)) numbers.push_back(*d);
    if (const auto* s = std::get_if<std::string>(&value)) words.push_back(*s);
  }
  if (!numbers.empty()) return numbers;
  return words.empty() ? Attribute(integers) : Attribute(words);
}

/// Parses {"#": TAG, "D": DATA}.
Attribute attribute_of(const Item& type) {
  const std::string& tag = type["#"].text("the tag of an attribute's type");
  const std::string_view kind = std::string_view(tag).substr(tag.find('.') + 1);
  if (kind == "a_array") return list_of(type["D"]);
  if (kind == "a_intarray") return integers(type["D"]);
  if (kind == "a_bool") return type["D"].boolean("true or false");
  if (kind == "a_i32" || kind == "a_i64" || kind == "a_index") return type["D"].integer("an integer");
  if (kind == "a_f32" || kind == "a_f64") return type["D"].number("a number");
  if (kind == "a_str" || kind == "a_layout") return type["D"].text("a word");
  if (kind == "a_dtype") return dtype_word(type["D"].text("the name of an element type"));
  return "of type " + tag;
}

Claim claim_of(const Item& type) {
  Claim claim;
  if (type["#"].text("the tag of a type") != "0.t_dtensor") return claim;
  const std::vector<Item> data = type["D"].list("the parts of a type");
  if (data.size() < 2)
    fail(errors::json_value_wrong(type.where(), fmt::format("{} parts of a type", data.size()),
                                  "an element type and extents"));
  const std::string& tag = data[0]["#"].text("the tag of an element type");
  const std::string short_tag = tag.substr(tag.find('.') + 1);
  const ElementType* element = find_type_by_tag(short_tag);
  claim.dtype = dtype_of(element);
  claim.type_name = element == nullptr ? short_tag : std::string(element->name);
  for (const int64_t extent : integers(data[1])) claim.dims.push_back(extent < 0 ? kUnknown : extent);
  if (claim.dims.size() > size_t{kMaxRank}) fail(errors::rank_too_large(type.where(), claim.dims.size(), kMaxRank));
  return claim;
}

/// Attributes that describe the results or the origin of an operator.
const std::set<std::string, std::less<>> kNoAttributes = {"stop_gradient", "persistable", "op_callstack",
                                                          "sym_shape_str", "struct_name", "place"};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Program read(const Json& json) {
    const Item root(json, name_);
    const Item base = root["base_code"];
    if (base["magic"].text("\"pir\"") != "pir")
      fail(errors::json_value_wrong(name_, "the magic word " + base["magic"].text("a word"), "pir"));
    program_.format = "pir";
    program_.version = base["version"].integer("a version");
    if (program_.version > kNewestVersion)
      fail(errors::program_version_not_supported(name_, program_.version, kNewestVersion));
    read_region(only(root["program"]["regions"], "region"));
    for (const auto& [col, value] : fetches_) program_.outputs.push_back(value);
    return std::move(program_);
  }

 private:
  /// Names of a value, or of the elements of a list.
  using Values = std::vector<std::string>;

  Item only(const Item& items, const char* what) const {
    const std::vector<Item> list = items.list("a list");
    if (list.size() != 1)
      fail(errors::json_value_wrong(items.where(), fmt::format("{} {}s", list.size(), what), "one"));
    return list[0];
  }

  Block& block(size_t number) { return program_.blocks[number]; }

  /// Returns the position of its block.
  size_t read_region(const Item& region) {
    if (++depth_ > kMaxRegions) fail(errors::json_too_deep(region.where(), "regions", kMaxRegions));
    const size_t outside = defined_.size();
    const size_t number = program_.blocks.size();
    program_.blocks.emplace_back();
    const Item inside = only(region["blocks"], "block");
    for (const Item& argument : inside["args"].list("a list")) {
      const std::string name =
          define(argument["#"].integer("the number of a value"), "argument", argument["TT"], number);
      block(number).arguments.push_back(name);
    }
    for (const Item& op : inside["ops"].list("a list")) read_op(op, number);
    for (; defined_.size() > outside; defined_.pop_back()) names_.erase(defined_.back());
    --depth_;
    return number;
  }

  /// Names value `id` of an operator `op`, or the elements of a list.
  std::string define(int64_t id, const std::string& op, const Item& type, size_t number) {
    std::string name = unique(fmt::format("{}_{}", op, id));
    Values values;
    if (type["#"].text("the tag of a type") == "0.t_vec") {
      for (const Item& element : type["D"].list("types")) {
        values.push_back(unique(fmt::format("{}.{}", name, values.size())));
        block(number).values[values.back()] = claim_of(element);
      }
    } else {
      values = {name};
      block(number).values[name] = claim_of(type);
    }
    bind(id, std::move(values), type.where());
    return name;
  }

  std::string unique(const std::string& hint) {
    std::string name = hint;
    while (!taken_.insert(name).second) name = fmt::format("{}_{}", hint, ++spare_);
    return name;
  }

  /// Names a value for the duration of the current region.
  void bind(int64_t id, Values values, const std::string& where) {
    if (!names_.emplace(id, std::move(values)).second) fail(errors::name_defined_twice(where, id));
    defined_.push_back(id);
  }

  /// Reserves a name from the file.
  void take(const std::string& name, const std::string& where) {
    if (!taken_.insert(name).second) fail(errors::name_defined_twice(where, name));
  }

  const Values& values(const Item& operand) const {
    static const Values kAbsent = {""};
    const int64_t id = operand["%"].integer("the number of a value");
    const auto found = names_.find(id);
    if (found == names_.end() && id != 0) fail(errors::value_read_before_made(operand.where(), id));
    return id == 0 ? kAbsent : found->second;
  }

  void read_op(const Item& item, size_t number) {
    const std::string& tag = item["#"].text("the name of an operator");
    const Item op = item.at(fmt::format("{}: operator {} '{}'", name_, count_++, tag));
    if (tag == "p") return read_parameter(op);
    Operator read{type_of(tag, op.where()), {}, {}, {}, {}};
    for (const Item& operand : op["I"].list("operands")) read.inputs.push_back({"", values(operand)});
    if (rename_list(read, op)) return;
    read_results(op, read, number);
    for (const Item& attribute : op["A"].list("attributes")) {
      const std::string& name = attribute["N"].text("the name of an attribute");
      if (kNoAttributes.contains(name)) continue;
      read.attributes[name] = attribute_of(attribute["AT"].at(fmt::format("{}: attribute {}", op.where(), name)));
    }
    if (op.has("regions")) {
      for (const Item& region : op["regions"].list("regions")) read.blocks.push_back(read_region(region));
    }
    place(op, std::move(read), number);
  }

  /// Returns "conv2d" for "1.conv2d", where the number selects the dialect.
  static std::string type_of(const std::string& tag, const std::string& where) {
    const size_t dot = tag.find('.');
    if (dot == std::string::npos) fail(errors::json_value_wrong(where, quote(tag), "an operator of a dialect"));
    const std::string dialect = tag.substr(0, dot), name = tag.substr(dot + 1);
    if (dialect == "0") return "builtin." + name;
    if (dialect == "1") return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;  // "relu_" is in place
    return dialect == "2" ? "cf." + name : tag;
  }

  /// Format: {"#": "p", "A": [is_distributed, is_parameter, need_clip, NAME], "O": {"%": ID, "TT": TYPE}, "OA":
  /// [persistable, stop_gradient, trainable], ...}. Only persistable parameters have contents.
  void read_parameter(const Item& op) {
    const std::vector<Item> parts = op["A"].list("the parts of a parameter");
    if (parts.size() != 4) fail(errors::json_value_wrong(op.where(), fmt::format("{} parts", parts.size()), 4));
    const std::string& name = parts[3].text("the name of a parameter");
    const Item result = op["O"];
    const std::vector<Item> flags = op["OA"].list("the flags of a parameter");
    if (flags.size() != 3) fail(errors::json_value_wrong(op.where(), fmt::format("{} flags", flags.size()), 3));
    const bool is_saved = flags[0].integer("a flag") != 0;
    take(name, op.where());
    if (is_saved) program_.parameters.emplace(name, claim_of(result["TT"]));
    bind(result["%"].integer("the number of a value"), {name}, op.where());
  }

  void read_results(const Item& op, Operator& read, size_t number) {
    for (const Item& result : op["O"].list("results")) {
      const int64_t id = result["%"].integer("the number of a value");
      if (id == 0) {
        read.outputs.push_back({"", {""}});
        continue;
      }
      define(id, read.type, result["TT"], number);
      read.outputs.push_back({"", names_[id]});
    }
  }

  /// Handles operators on lists of values, which only rename them. Returns false for any other operator.
  bool rename_list(const Operator& read, const Item& op) {
    if (read.type == "builtin.combine") {
      Values all;
      for (const Slot& slot : read.inputs) all.insert(all.end(), slot.values.begin(), slot.values.end());
      rename(only(op["O"], "result"), std::move(all));
      return true;
    }
    if (read.type != "builtin.split" && read.type != "builtin.slice") return false;
    const Values& list = values(only(op["I"], "operand"));
    const std::vector<Item> results = op["O"].list("results");
    const int64_t first = read.type == "builtin.slice" ? index_of(op) : 0;
    if (first < 0 || first > static_cast<int64_t>(list.size()) ||
        results.size() > list.size() - static_cast<size_t>(first))
      fail(errors::list_too_short(op.where(), results.size(), first, list.size()));
    const Values copy = list;
    for (size_t i = 0; i < results.size(); ++i) rename(results[i], {copy[static_cast<size_t>(first) + i]});
    return true;
  }

  void rename(const Item& result, Values values) {
    bind(result["%"].integer("the number of a value"), std::move(values), result.where());
  }

  static int64_t index_of(const Item& op) {
    for (const Item& attribute : op["A"].list("attributes")) {
      if (attribute["N"].text("the name of an attribute") == "index") return attribute["AT"]["D"].integer("an integer");
    }
    fail(errors::part_missing(op.where(), "attribute index"));
  }

  void place(const Item& op, Operator read, size_t number) {
    if (read.type == "data" || read.type == "feed") return read_input(op, read, number);
    if (read.type == "fetch" || read.type == "builtin.shadow_output") return read_fetch(op, read);
    if (read.type != "cf.yield") return block(number).operators.push_back(std::move(read));
    Values results;
    for (const Slot& slot : read.inputs) results.insert(results.end(), slot.values.begin(), slot.values.end());
    block(number).results = std::move(results);
  }

  /// Renames the value to its feed name.
  void read_input(const Item& op, const Operator& read, size_t number) {
    const auto name = read.attributes.find("name");
    const Item result = only(op["O"], "result");
    if (number != 0 || name == read.attributes.end() || !std::holds_alternative<std::string>(name->second))
      fail(errors::port_wrong(op.where(), "an input of the outermost block with a name"));
    const std::string fed = std::get<std::string>(name->second);
    const int64_t id = result["%"].integer("the number of a value");
    const Claim claim = claim_of(result["TT"]);
    take(fed, op.where());
    for (const std::string& value : names_[id]) block(number).values.erase(value);
    names_[id] = {fed};
    if (is_persistable(op)) {
      program_.parameters.emplace(fed, claim);
    } else {
      block(number).values[fed] = claim;
      program_.inputs.push_back({fed, claim});
    }
  }

  static bool is_persistable(const Item& op) {
    if (!op.has("OA")) return false;
    for (const Item& flag : op["OA"].list("flags of results")) {
      if (flag["N"].text("the name of a flag") != "persistable") continue;
      const auto flags = attribute_of(flag["AT"]);
      const auto* list = std::get_if<std::vector<int64_t>>(&flags);
      return list != nullptr && !list->empty() && list->front() != 0;
    }
    return false;
  }

  void read_fetch(const Item& op, const Operator& read) {
    const auto col = read.attributes.find("col");
    const bool has_col = col != read.attributes.end() && std::holds_alternative<int64_t>(col->second);
    if (read.inputs.size() != 1 || read.inputs[0].values.size() != 1) fail(errors::port_wrong(op.where(), "one value"));
    const int64_t position = has_col ? std::get<int64_t>(col->second) : static_cast<int64_t>(fetches_.size());
    if (!fetches_.emplace(position, read.inputs[0].values[0]).second)
      fail(errors::port_position_twice(op.where(), "outputs", position));
  }

  const std::string& name_;
  Program program_;
  std::map<int64_t, Values> names_;  ///< names of values visible at the current position
  std::vector<int64_t> defined_;     ///< keys of names_, in order
  std::set<std::string> taken_;
  std::map<int64_t, std::string> fetches_;
  int depth_ = 0;
  int64_t count_ = 0, spare_ = 0;
};

}  // namespace

Program read_pir(std::span<const std::byte> bytes, const std::string& name) {
  const Json json = parse(text_of(bytes), name);
  return Reader(name).read(json);
}

bool looks_like_pir(std::span<const std::byte> bytes) {
  constexpr size_t kStart = 4096;
  const std::string_view start = text_of(bytes).substr(0, kStart);
  const size_t magic = start.find("\"magic\"");
  return start.starts_with("{") && magic != std::string_view::npos &&
         start.find("\"pir\"", magic) != std::string_view::npos;
}

}  // namespace halfstep::formats::paddle
