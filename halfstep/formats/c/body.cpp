#include "halfstep/formats/c/body.h"

#include <fmt/format.h>

#include "halfstep/formats/c/errors.h"
#include "halfstep/formats/c/orders.h"

namespace halfstep::formats::c {

std::string name_of(const std::string& layer, const std::string& what) { return to_c_identifier(layer) + "_" + what; }

std::string indentation(int depth) { return std::string(static_cast<size_t>(4 * (depth + 1)), ' '); }

Body::Body(const Model& model, Identifiers& names) : model_(model), images_(images(model.graph)), names_(names) {}

Dims Body::stored(Value value) const { return stored_dims(value.dims(), is_image(value)); }

size_t Body::add_buffer(const std::string& hint, DType dtype, int64_t count) {
  if (count > INT32_MAX) fail(errors::c_too_many_elements(hint, count, INT32_MAX));
  buffers.push_back({names_.unique(hint), dtype, count, now(), now()});
  return buffers.size() - 1;
}

std::string Body::read(Value value) {
  Buffer& found = buffer(value);
  found.last = now();
  return found.name;
}

std::string Body::write(Value value) {
  places_[value.node()] = add_buffer(name_of(value.name(), "y"), value.dtype(), count_elements(value.dims()));
  return buffers.back().name;
}

std::string Body::scratch(const std::string& hint, DType dtype, int64_t count) {
  return buffers[add_buffer(hint, dtype, count)].name;
}

void Body::alias(Value value, Value same) {
  buffer(same).last = now();
  places_[value.node()] = places_.at(same.node());
}

void Body::feed(Value value, const std::string& parameter) {
  places_[value.node()] = buffers.size();
  buffers.push_back({parameter, value.dtype(), count_elements(value.dims()), 0, 0, Storage::input});
}

Buffer& Body::buffer(Value value) {
  const auto found = places_.find(value.node());
  HS_CHECK(found != places_.end());
  return buffers[found->second];
}

std::string Body::numbers(const std::string& hint, const std::string& type, std::span<const int64_t> values,
                          size_t each) {
  return object(hint, type, c_numbers(values), values.size() * each, fmt::format("[{}]", values.size()));
}

std::string Body::numbers(const std::string& hint, std::span<const float> values) {
  return object(hint, "float", c_numbers(values), values.size_bytes(), fmt::format("[{}]", values.size()));
}

std::string Body::object(const std::string& hint, const std::string& type, const std::string& contents, size_t bytes,
                         const std::string& extent) {
  const std::string name = names_.unique(hint);
  constants += fmt::format("static const {} {}{} = {{\n    {}}};\n", type, name, extent, contents);
  constant_bytes += bytes;
  return name;
}

void Body::finish(const std::string& comment, const std::vector<Value>& shown) {
  CallText call{comment, std::move(statements_), "", begun_};
  statements_.clear();
  for (const Value value : shown) {
    const Buffer& memory = buffer(value);
    call.hooks += fmt::format("{}if (hook != NULL) hook(\"{}\", {}, {}, {}, user);\n", indentation(depth_),
                              c_string(value.name()), memory.name, memory.count, size_of(memory.dtype));
  }
  calls.push_back(std::move(call));
  begun_ = depth_;
}

void Body::open(const std::string& statement) {
  say(statement + " {");
  ++depth_;
}

}  // namespace halfstep::formats::c
