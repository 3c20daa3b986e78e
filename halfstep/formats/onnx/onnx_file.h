// An ONNX file with checked format and parsed messages. Tensors stay in the mapped file until they are needed.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/files/mapped_file.h"
#include "halfstep/formats/builder/foreign_file.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

class OnnxFile : public File {
 public:
  /// Throws Error that starts with the path.
  static std::shared_ptr<const OnnxFile> open(const std::filesystem::path& path);
  /// Parses bytes in memory, which must outlive the file. They have no folder and therefore no external data.
  static std::shared_ptr<const OnnxFile> parse(std::span<const std::byte> bytes, const std::string& name);

  Summary summary() const override;
  Coverage coverage(const Binding& binding) const override;
  Model import(const Binding& binding) const override;

  /// The path as given by the user.
  const std::string& name() const { return name_; }
  const proto::Model& model() const { return model_; }
  const proto::Graph& graph() const { return model_.graph(); }
  size_t bytes() const { return bytes_.size(); }
  /// Versions by domain ("" is ONNX's own), as imported by the model.
  const std::map<std::string, int64_t>& opsets() const { return opsets_; }

  /// Returns the contents, without a copy if elements in the file are aligned. `where` starts the messages.
  Tensor contents(const proto::TensorData& tensor, const std::string& where) const;

 private:
  OnnxFile() = default;
  void parse_model();
  void check_model();
  /// Returns the bytes of external data.
  std::span<const std::byte> external(const proto::TensorData& tensor, const std::string& where,
                                      std::shared_ptr<const io::MappedFile>& owner) const;
  std::shared_ptr<const io::MappedFile> external_file(const std::string& location, const std::string& where) const;

  std::string name_;
  std::filesystem::path folder_;  ///< empty: no external data
  std::shared_ptr<const io::MappedFile> mapped_;
  std::span<const std::byte> bytes_;
  proto::Model model_;
  std::map<std::string, int64_t> opsets_;
  mutable std::map<std::string, std::shared_ptr<const io::MappedFile>> external_files_;
};

/// Return a File for a path, or for bytes in memory. See OnnxFile.
std::shared_ptr<const File> open(const std::filesystem::path& path);
std::shared_ptr<const File> parse(std::span<const std::byte> bytes, const std::string& name);

/// Returns versions by domain, for a model or a function.
std::map<std::string, int64_t> opsets_of(const google::protobuf::RepeatedPtrField<proto::OperatorSet>& imports,
                                         const std::string& where);

/// Returns "" for "ai.onnx", which is the same domain.
std::string plain_domain(const std::string& domain);

/// Reads a file with one tensor, the format of ONNX's test data.
Tensor read_tensor_file(const std::filesystem::path& path);

/// Whether the file starts like an ONNX model.
bool is_onnx_file(const std::filesystem::path& path);

}  // namespace halfstep::formats::onnx
