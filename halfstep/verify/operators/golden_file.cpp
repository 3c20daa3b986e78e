#include "halfstep/verify/operators/golden_file.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/verify/operators/errors.h"

namespace halfstep::verify {
namespace {

using Json = nlohmann::ordered_json;

/// Types of tensors that are stored as U8, one element in each byte.
const std::map<std::string, DType>& logical_types() {
  static const std::map<std::string, DType> kTypes = {{"int2", DType::i2},
                                                      {"uint2", DType::u2},
                                                      {"int4", DType::i4},
                                                      {"uint4", DType::u4},
                                                      {"float8_e4m3fn", DType::f8_e4m3fn},
                                                      {"float8_e4m3fnuz", DType::f8_e4m3fnuz},
                                                      {"float8_e5m2", DType::f8_e5m2},
                                                      {"float8_e5m2fnuz", DType::f8_e5m2fnuz},
                                                      {"float4_e2m1fn", DType::f4_e2m1fn}};
  return kTypes;
}

template <class T>
std::vector<T> list_of(const Json& json) {
  return json.get<std::vector<T>>();
}

/// Numbers that JSON does not support are stored as text.
std::optional<double> spelled_number(const std::string& text) {
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : name_(path.filename().string()) {
    const std::vector<std::byte> bytes = io::read_file(path);
    try {
      json_ = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                          reinterpret_cast<const char*>(bytes.data() + bytes.size()));
    } catch (const Json::parse_error& error) {
      fail(errors::golden_file_unreadable(name_, error.byte));
    }
    const std::filesystem::path beside = std::filesystem::path(path).replace_extension(".safetensors");
    tensors_name_ = beside.filename().string();
    tensors_ = io::read_safetensors(beside).tensors;
  }

  std::vector<GoldenCase> read() {
    if (!json_.is_array()) fail(errors::golden_value_unfit(name_, json_.type_name(), "a list of cases"));
    std::vector<GoldenCase> cases;
    for (size_t i = 0; i < json_.size(); ++i) {
      where_ = fmt::format("{}: case {}", name_, i);
      cases.push_back(read_case(json_[i]));
    }
    return cases;
  }

 private:
  [[noreturn]] void unfit(const std::string& key, const std::string& found, const std::string& expected) const {
    fail(errors::golden_value_unfit(fmt::format("{}: '{}'", where_, key), found, expected));
  }

  const Json& at(const Json& json, const char* key, bool (Json::*is)() const noexcept, const char* expected) const {
    const bool is_there = json.is_object() && json.contains(key);
    if (!is_there || !(json.at(key).*is)()) unfit(key, is_there ? json.at(key).type_name() : "nothing", expected);
    return json.at(key);
  }

  GoldenCase read_case(const Json& json) {
    GoldenCase one;
    one.id = at(json, "id", &Json::is_string, "text").get<std::string>();
    where_ = fmt::format("{}: case '{}'", name_, one.id);
    one.op = at(json, "op", &Json::is_string, "text").get<std::string>();
    for (const auto& [name, value] : at(json, "attr", &Json::is_object, "an object").items())
      one.attributes.emplace_back(name, attribute(name, value));
    types_ = json.contains("type") ? &at(json, "type", &Json::is_object, "an object") : nullptr;
    for (const auto& [port, names] : at(json, "in", &Json::is_object, "an object").items())
      one.in.emplace_back(port, operands(port, names));
    if (json.contains("error")) {
      const Json& error = json.at("error");
      one.error = error.is_string() ? error.get<std::string>() : error.dump();
      return one;
    }
    for (const auto& [port, name] : at(json, "out", &Json::is_object, "an object").items())
      one.out.emplace_back(port, name.is_null() ? Tensor() : tensor(port, name));
    return one;
  }

  Attribute attribute(const std::string& name, const Json& value) const {
    if (value.is_boolean()) return value.get<bool>();
    if (value.is_number_integer()) return value.get<int64_t>();
    if (value.is_number()) return value.get<double>();
    if (value.is_string()) {
      const std::string text = value.get<std::string>();
      const auto number = spelled_number(text);
      return number ? Attribute(*number) : Attribute(text);
    }
    const auto all = [&](auto is) { return value.is_array() && std::all_of(value.begin(), value.end(), is); };
    if (all([](const Json& item) { return item.is_number_integer(); })) return list_of<int64_t>(value);
    if (all([](const Json& item) { return item.is_number(); })) return list_of<double>(value);
    if (all([](const Json& item) { return item.is_string(); })) return list_of<std::string>(value);
    unfit(name, value.dump(), "a number, text, or a list of them");
  }

  std::vector<Tensor> operands(const std::string& port, const Json& names) const {
    if (!names.is_array()) return {tensor(port, names)};
    std::vector<Tensor> list;
    for (const Json& name : names) list.push_back(tensor(port, name));
    return list;
  }

  Tensor tensor(const std::string& port, const Json& name) const {
    if (!name.is_string()) unfit(port, name.dump(), "the name of a tensor");
    const auto found = tensors_.find(name.get<std::string>());
    if (found == tensors_.end())
      unfit(port, fmt::format("'{}'", name.get<std::string>()), "the name of a tensor in " + tensors_name_);
    if (types_ == nullptr || !types_->contains(port)) return found->second;
    return as_type(port, found->second, types_->at(port));
  }

  Tensor as_type(const std::string& port, const Tensor& bytes, const Json& type) const {
    const auto known = type.is_string() ? logical_types().find(type.get<std::string>()) : logical_types().end();
    if (known == logical_types().end()) unfit(port, type.dump(), "an element type");
    if (size_of(bytes.dtype()) != 1)
      unfit(port, to_string(bytes.type()), fmt::format("one byte for each {}", known->first));
    Tensor typed(known->second, bytes.dims());
    std::copy_n(bytes.raw(), bytes.bytes(), typed.raw());
    return typed;
  }

  std::string name_, tensors_name_, where_;
  Json json_;
  const Json* types_ = nullptr;  ///< types of the current case
  std::map<std::string, Tensor> tensors_;
};

}  // namespace

std::vector<GoldenCase> read_golden(const std::filesystem::path& path) { return Reader(path).read(); }

}  // namespace halfstep::verify
