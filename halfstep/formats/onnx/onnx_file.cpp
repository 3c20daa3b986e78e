#include "halfstep/formats/onnx/onnx_file.h"

#include <fmt/format.h>

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <charconv>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/onnx_messages.h"
#include "halfstep/formats/onnx/tensor_data.h"

namespace halfstep::formats::onnx {
namespace {

constexpr int kParseDepth = static_cast<int>(WireLimits().depth) + 1;  // more than the wire scanner accepts

template <class Message>
void parse_message(Message& message, const std::string& text, const std::string& name) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(text.data()),
                                                static_cast<int>(text.size()));
  stream.SetRecursionLimit(kParseDepth);
  if (text.size() > INT32_MAX || !message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    fail(errors::not_protobuf(name));
}

/// Parses a decimal number of external data. Returns `otherwise` if the key is missing.
uint64_t number_of(const proto::TensorData& tensor, std::string_view key, uint64_t otherwise,
                   const std::string& where) {
  for (const proto::Entry& entry : tensor.external_data()) {
    if (entry.key() != key) continue;
    uint64_t value = 0;
    const char* end = entry.value().data() + entry.value().size();
    const auto [stop, error] = std::from_chars(entry.value().data(), end, value);
    if (error != std::errc() || stop != end) fail(errors::external_number(where, key, entry.value()));
    return value;
  }
  return otherwise;
}

std::string location_of(const proto::TensorData& tensor, const std::string& where) {
  for (const proto::Entry& entry : tensor.external_data()) {
    if (entry.key() == "location") return entry.value();
  }
  fail(errors::external_path(where, "", "a location"));
}

}  // namespace

std::string plain_domain(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::map<std::string, int64_t> opsets_of(const google::protobuf::RepeatedPtrField<proto::OperatorSet>& imports,
                                         const std::string& where) {
  std::map<std::string, int64_t> opsets;
  for (const proto::OperatorSet& opset : imports) {
    const auto [known, is_new] = opsets.emplace(plain_domain(opset.domain()), opset.version());
    if (!is_new && known->second != opset.version())
      fail(errors::domain_imported_twice(where, opset.domain(), known->second, opset.version()));
  }
  return opsets;
}

std::shared_ptr<const OnnxFile> OnnxFile::open(const std::filesystem::path& path) {
  std::shared_ptr<OnnxFile> file(new OnnxFile);
  file->name_ = path.string();
  file->folder_ = path.has_parent_path() ? path.parent_path() : ".";
  file->mapped_ = io::MappedFile::open(path);
  file->bytes_ = file->mapped_->bytes();
  file->parse_model();
  return file;
}

std::shared_ptr<const OnnxFile> OnnxFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  std::shared_ptr<OnnxFile> file(new OnnxFile);
  file->name_ = name;
  file->bytes_ = bytes;
  file->parse_model();
  return file;
}

void OnnxFile::parse_model() {
  {
    const std::string text = short_form(bytes_, WireRoot::model, name_);
    parse_message(model_, text, name_);
  }
  check_model();
  opsets_ = opsets_of(model_.opset_import(), name_);
}

void OnnxFile::check_model() {
  constexpr int64_t kLatest = 15;  // a margin above IR version 13, which is supported
  if (!model_.has_graph()) fail(errors::not_onnx_model(name_, "graph"));
  if (model_.ir_version() < 1) fail(errors::not_onnx_model(name_, "IR version"));
  if (model_.opset_import_size() == 0) fail(errors::not_onnx_model(name_, "operator set"));
  if (model_.ir_version() > kLatest) fail(errors::ir_version_not_supported(name_, model_.ir_version(), kLatest));
}

std::shared_ptr<const io::MappedFile> OnnxFile::external_file(const std::string& location,
                                                              const std::string& where) const {
  const auto known = external_files_.find(location);
  if (known != external_files_.end()) return known->second;
  const std::filesystem::path path(location);
  const auto leaves = [](const std::filesystem::path& part) { return part == ".."; };
  if (folder_.empty())
    fail(errors::external_path(where, quote(location), "a model in a file, because its folder contains external data"));
  if (location.empty() || path.is_absolute() || std::any_of(path.begin(), path.end(), leaves) ||
      location.find('\0') != std::string::npos)
    fail(errors::external_path(where, quote(location), "a path below the model's folder"));
  try {
    return external_files_[location] = io::MappedFile::open_below(folder_, path);
  } catch (const Error& error) {
    external_files_.erase(location);
    throw prefixed(where + ": external data", error);
  }
}

std::span<const std::byte> OnnxFile::external(const proto::TensorData& tensor, const std::string& where,
                                              std::shared_ptr<const io::MappedFile>& owner) const {
  const std::string location = location_of(tensor, where);
  owner = external_file(location, where);
  const auto bytes = owner->bytes();
  const uint64_t offset = number_of(tensor, "offset", 0, where);
  if (offset > bytes.size()) fail(errors::external_outside_file(where, location, "bytes", offset, bytes.size()));
  const uint64_t length = number_of(tensor, "length", bytes.size() - offset, where);
  if (length > bytes.size() - offset)
    fail(errors::external_outside_file(where, location, fmt::format("{} bytes", length), offset, bytes.size()));
  return bytes.subspan(offset, length);
}

Tensor OnnxFile::contents(const proto::TensorData& tensor, const std::string& where) const {
  const Type type = type_of(tensor, where);
  if (tensor.data_location() != kExternalData) return from_message(tensor, type, bytes_, mapped_, where);
  std::shared_ptr<const io::MappedFile> owner;
  const auto bytes = external(tensor, where, owner);
  return from_raw(bytes, type, owner, where);
}

Tensor read_tensor_file(const std::filesystem::path& path) {
  const auto mapped = io::MappedFile::open(path);
  const std::string name = path.string();
  proto::TensorData tensor;
  parse_message(tensor, short_form(mapped->bytes(), WireRoot::tensor, name), name);
  if (tensor.data_location() == kExternalData) fail(errors::external_in_tensor_file(name));
  return from_message(tensor, type_of(tensor, name), mapped->bytes(), mapped, name);
}

bool is_onnx_file(const std::filesystem::path& path) {
  std::error_code failed;  // if the check fails, open() reports the reason
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed)) return false;
  return looks_like_model(io::MappedFile::open(path)->bytes());
}

}  // namespace halfstep::formats::onnx
