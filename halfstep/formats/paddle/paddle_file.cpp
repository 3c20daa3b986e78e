#include "halfstep/formats/paddle/paddle_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "halfstep/formats/paddle/errors.h"
#include "halfstep/formats/paddle/parameter_file.h"
#include "halfstep/formats/paddle/pir.h"
#include "halfstep/formats/paddle/program_desc.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {
namespace {

namespace fs = std::filesystem;

constexpr std::array kExtensions = {".pdmodel", ".json"};

struct Format {
  bool (*is_one)(std::span<const std::byte>);
  Program (*read)(std::span<const std::byte>, const std::string& name);
};
constexpr std::array kFormats = {Format{looks_like_program_desc, read_program_desc}, Format{looks_like_pir, read_pir}};

const Format* format_of(std::span<const std::byte> bytes) {
  const auto found = std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& f) { return f.is_one(bytes); });
  return found == kFormats.end() ? nullptr : &*found;
}

bool is_program(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed) && format_of(io::MappedFile::open(path)->bytes()) != nullptr;
}

std::vector<fs::path> programs_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const auto extension = entry.path().extension();
    const bool may_be = std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
    if (may_be && is_program(entry.path())) found.push_back(entry.path());
  }
  if (failed) fail(errors::program_folder_unreadable(folder.string(), failed.message()));
  std::sort(found.begin(), found.end());
  return found;
}

/// Returns the programs that `path` can refer to.
std::vector<fs::path> programs_at(const fs::path& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) return programs_in(path);
  if (is_program(path)) return {path};
  std::vector<fs::path> found;
  for (const char* extension : kExtensions) {
    const fs::path program = path.string() + extension;
    if (is_program(program)) found.push_back(program);
  }
  return found;
}

fs::path program_at(const fs::path& path) {
  const std::vector<fs::path> found = programs_at(path);
  if (found.empty()) fail(errors::not_paddle_program(path.string()));
  if (found.size() > 1)
    fail(errors::several_programs(path.string(), found.size(), found[0].filename().string(),
                                  found[1].filename().string()));
  return found[0];
}

Program read_program(std::span<const std::byte> bytes, const std::string& name) {
  const Format* format = format_of(bytes);
  if (format == nullptr) fail(errors::not_paddle_program(name));
  return format->read(bytes, name);
}

std::string type_text(const Claim& claim) {
  std::string extents;
  for (const int64_t extent : claim.dims)
    extents += (extents.empty() ? "" : ", ") + (extent == kUnknown ? std::string("?") : std::to_string(extent));
  return claim.type_name + "[" + extents + "]";
}

/// 3003001 means Paddle 3.3.1, and 0 means unknown.
std::string release_text(int64_t version) {
  return version == 0 ? "paddle"
                      : fmt::format("paddle {}.{}.{}", version / 1'000'000, version / 1000 % 1000, version % 1000);
}

}  // namespace

std::shared_ptr<const PaddleFile> PaddleFile::open(const fs::path& path) {
  const fs::path program = program_at(path);
  const std::string name = program.string();
  Program read = read_program(io::MappedFile::open(program)->bytes(), name);
  fs::path parameters = program;
  parameters.replace_extension(".pdiparams");
  std::error_code failed;
  if (!fs::exists(parameters, failed)) {
    if (!read.parameters.empty())
      fail(errors::parameters_missing(parameters.string(), read.parameters.size(), program.filename().string()));
    return of(std::move(read), {}, name);
  }
  const auto mapped = io::MappedFile::open(parameters);
  auto contents = read_parameters(mapped, mapped->bytes(), read.parameters, parameters.string());
  return of(std::move(read), std::move(contents), name);
}

std::shared_ptr<const PaddleFile> PaddleFile::parse(std::span<const std::byte> program,
                                                    std::span<const std::byte> parameters, const std::string& name) {
  Program read = read_program(program, name);
  auto contents = read_parameters(nullptr, parameters, read.parameters, name + ".pdiparams");
  return of(std::move(read), std::move(contents), name);
}

std::shared_ptr<const PaddleFile> PaddleFile::of(Program program, std::map<std::string, Tensor> parameters,
                                                 const std::string& name) {
  std::shared_ptr<PaddleFile> file(new PaddleFile);
  file->name_ = name;
  file->program_ = std::move(program);
  file->parameters_ = std::move(parameters);
  return file;
}

Summary PaddleFile::summary() const {
  Summary summary;
  summary.format = program_.format;
  const bool is_pir = program_.format == "pir";
  summary.producer = is_pir ? "paddle" : release_text(program_.version);
  summary.title = is_pir ? fmt::format("Paddle program (PIR, version {})", program_.version)
                         : fmt::format("Paddle program (ProgramDesc) of {}", summary.producer);
  summary.versions = {{"program_version", program_.version}};
  for (const Input& input : program_.inputs)
    summary.inputs.push_back(
        {input.name, type_text(input.claim), input.claim.dims, !input.claim.type_name.empty(), false});
  for (size_t i = 0; i < program_.outputs.size(); ++i) {
    const auto claim = program_.blocks[0].values.find(program_.outputs[i]);
    const bool known = claim != program_.blocks[0].values.end();
    summary.outputs.push_back({output_name(i), known ? type_text(claim->second) : "without a type",
                               known ? claim->second.dims : Dims(), true, false});
  }
  for (const Block& block : program_.blocks) {
    for (const Operator& op : block.operators) ++summary.operators[op.type];
    summary.nodes += static_cast<int64_t>(block.operators.size());
  }
  for (const auto& [name, tensor] : parameters_) {
    summary.parameters += tensor.size();
    summary.parameter_bytes += static_cast<int64_t>(tensor.bytes());
  }
  return summary;
}

Coverage PaddleFile::coverage(const Binding& binding) const {
  Model model;
  Coverage found;
  Translator(*this, binding, model, &found).run();
  return found;
}

Model PaddleFile::import(const Binding& binding) const {
  Model model;
  model.graph.set_name(fs::path(name_).stem().string());
  Translator(*this, binding, model, nullptr).run();
  finish(model);
  return model;
}

std::shared_ptr<const File> open(const fs::path& path) { return PaddleFile::open(path); }

std::shared_ptr<const File> parse(std::span<const std::byte> program, std::span<const std::byte> parameters,
                                  const std::string& name) {
  return PaddleFile::parse(program, parameters, name);
}

bool is_paddle_file(const fs::path& path) { return !programs_at(path).empty(); }

}  // namespace halfstep::formats::paddle
