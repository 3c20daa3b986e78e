// A Paddle model: a program, as a ProgramDesc or as PIR, and the file of its parameters.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "halfstep/formats/builder/foreign_file.h"
#include "halfstep/formats/paddle/paddle_program.h"

namespace halfstep::formats::paddle {

class PaddleFile : public File {
 public:
  /// `path` is a folder with one model, the program, or its path without the extension.
  static std::shared_ptr<const PaddleFile> open(const std::filesystem::path& path);
  /// Parses a program and parameters in memory, which must outlive the file.
  static std::shared_ptr<const PaddleFile> parse(std::span<const std::byte> program,
                                                 std::span<const std::byte> parameters, const std::string& name);

  /// Makes a file of a parsed program and the contents of its parameters.
  static std::shared_ptr<const PaddleFile> of(Program program, std::map<std::string, Tensor> parameters,
                                              const std::string& name);

  Summary summary() const override;
  Coverage coverage(const Binding& binding) const override;
  Model import(const Binding& binding) const override;

  /// The path of the program.
  const std::string& name() const { return name_; }
  const Program& program() const { return program_; }
  const std::map<std::string, Tensor>& parameters() const { return parameters_; }

 private:
  PaddleFile() = default;

  std::string name_;
  Program program_;
  std::map<std::string, Tensor> parameters_;
};

/// Return a File for a path, or for bytes in memory. See PaddleFile.
std::shared_ptr<const File> open(const std::filesystem::path& path);
std::shared_ptr<const File> parse(std::span<const std::byte> program, std::span<const std::byte> parameters,
                                  const std::string& name);

/// Whether there is a program at `path`, with the rules of PaddleFile::open.
bool is_paddle_file(const std::filesystem::path& path);

}  // namespace halfstep::formats::paddle
