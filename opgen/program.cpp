#include "opgen/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "opgen/check.h"
#include "opgen/gradient.h"
#include "opgen/load.h"
#include "opgen/schema.h"

namespace halfstep::opgen {
namespace {

namespace fs = std::filesystem;

bool overlap(const Foreign& a, const Foreign& b) {
  return a.format == b.format && a.domain == b.domain && a.op == b.op && (!a.until || b.since <= *a.until) &&
         (!b.until || a.since <= *b.until);
}

/// Sorted by format, domain and name, so that only neighbours can have the same name.
void check_foreign_unique(std::vector<const Foreign*> foreign) {
  const auto key = [](const Foreign* name) { return std::tie(name->format, name->domain, name->op); };
  std::stable_sort(foreign.begin(), foreign.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
  for (size_t i = 0; i < foreign.size(); ++i) {
    for (size_t k = i + 1; k < foreign.size() && key(foreign[i]) == key(foreign[k]); ++k) {
      const Foreign &a = *foreign[i], &b = *foreign[k];
      if (overlap(a, b))
        fail_at(b.source, "the {} operator {} is also at {}:{}", b.format, b.op, a.source.file, a.source.line);
    }
  }
}

/// Checks that each operator, and each foreign name in each version, has exactly one record.
void check_unique(const Records& records) {
  std::map<std::string, Source> operators;
  std::vector<const Foreign*> foreign;
  const auto take = [](std::map<std::string, Source>& seen, const std::string& what, const Source& source) {
    const auto [first, is_new] = seen.emplace(what, source);
    if (!is_new) fail_at(source, "{} is also at {}:{}", what, first->second.file, first->second.line);
  };
  for (const Record& record : records) {
    take(operators, fmt::format("the operator {}", record.name), record.source);
    for (const Foreign& name : record.foreign) foreign.push_back(&name);
  }
  check_foreign_unique(foreign);
}

/// Checks that the integer form of an operator has all ports and attributes of the float operator.
void check_form_on_codes(const Record& record, const Record& target) {
  const auto reject = [&](const char* what, const std::string& name) {
    fail_at(record.quant->source, "{} has no {} '{}', which {} has: on codes it would be lost", target.name, what, name,
            record.name);
  };
  for (const AttributeSpec& attribute : record.attributes) {
    if (target.attribute(attribute.name) == nullptr) reject("attribute", attribute.name);
  }
  for (const Port& port : record.inputs) {
    if (!port.variadic && target.input(port.name) == nullptr) reject("input", port.name);
  }
}

/// Integer form of every pointwise function that becomes a table.
constexpr const char* kLookup = "quantized_lookup";

void check_quant_references(const Records& records) {
  std::vector<std::string> known;
  for (const Record& record : records) known.push_back(record.name);
  for (const Record& record : records) {
    if (!record.quant) continue;
    for (const std::string& name : {record.quant->quantized, record.quant->integer}) {
      if (name.empty()) continue;
      const Record* target = find(records, name);
      if (target == nullptr) fail_at(record.quant->source, "unknown operator '{}'{}", name, did_you_mean(name, known));
      // integer normalizations are derived from all ports and attributes of their training form
      if (record.quant->trait != "normalizes" || name == record.quant->quantized) check_form_on_codes(record, *target);
    }
    const Record* lookup = record.quant->lookup ? find(records, kLookup) : nullptr;
    if (lookup != nullptr) check_form_on_codes(record, *lookup);
  }
}

/// Path of a file for messages.
std::string shown_path(const std::string& file, const fs::path& root) {
  return fs::absolute(file).lexically_normal().lexically_relative(root).generic_string();
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Comment lines at the start of a file.
std::string first_comment(const std::string& file) {
  std::string text = read_file(file);
  std::string comment;
  for (size_t end = 0; text.starts_with("// ") && (end = text.find('\n')) != std::string::npos;) {
    comment += (comment.empty() ? "" : " ") + text.substr(3, end - 3);
    text.erase(0, end + 1);
  }
  if (comment.empty())
    fail(errors::record_wrong(fmt::format("{}:1: found no comment that describes the function", file)));
  return comment;
}

/// Returns FOLDER of halfstep/formats/FOLDER/ops/NAME.cpp, also for a file in a subfolder of ops.
std::string importer_of(const fs::path& file) {
  fs::path folder = file.parent_path();
  while (folder.has_filename() && folder.filename() != "ops") folder = folder.parent_path();
  return folder.parent_path().filename().string();
}

/// Loads records and fragments of all files, in order.
std::vector<Yaml> load_entries(const std::vector<std::string>& files, const fs::path& root) {
  std::vector<Yaml> entries;
  for (const std::string& file : files) {
    const Yaml page = load_yaml(file, shown_path(file, root));
    if (!page.is_list()) fail_at(page.source(), "found {}, expected a list of records", page.shape());
    for (Yaml& entry : page.elements()) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::vector<Enum> load_enums(const std::string& schema_file) {
  return Schema(load_yaml(schema_file, schema_file)).enums();
}

Records load_all(const std::string& schema_file, const std::vector<std::string>& files) {
  const fs::path root = fs::absolute(schema_file).lexically_normal().parent_path().parent_path();
  const Schema schema(load_yaml(schema_file, shown_path(schema_file, root)));
  const std::vector<Yaml> entries = load_entries(files, root);
  Fragments fragments(entries, schema);
  Records records;
  GradientBlocks gradients;
  for (const Yaml& entry : entries) {
    if (Fragments::is_fragment(entry)) continue;
    Loaded loaded = load_record(entry, fragments, schema);
    check_record(loaded.record);
    if (loaded.yaml.has("test")) loaded.record.test = load_test(loaded.yaml.at("test"), loaded.record);
    check_rejects(loaded.record);
    if (loaded.yaml.has("grad")) gradients.emplace(loaded.record.name, loaded.yaml.at("grad"));
    records.push_back(std::move(loaded.record));
  }
  fragments.check_used();
  check_unique(records);
  resolve_gradients(records, gradients);
  check_unique(records);
  check_quant_references(records);
  return records;
}

std::vector<Importer> load_importers(std::vector<std::string> files) {
  std::vector<Importer> all = importers();
  std::ranges::sort(files, {}, [](const std::string& file) { return fs::path(file).stem().string(); });
  for (const std::string& file : files) {
    const std::string folder = importer_of(file);
    const auto importer = std::ranges::find(all, folder, &Importer::folder);
    if (importer == all.end()) fail(errors::record_wrong(fmt::format("{}: there is no importer '{}'", file, folder)));
    importer->forms.push_back({fs::path(file).stem().string(), first_comment(file)});
  }
  return all;
}

void write_all(const std::vector<OutputFile>& files, const std::string& folder) {
  for (const OutputFile& file : files) {
    const fs::path path = fs::path(folder) / file.path;
    if (fs::exists(path) && read_file(path) == file.text) continue;
    fs::create_directories(path.parent_path());
    std::ofstream stream(path, std::ios::binary);
    stream << file.text;
    if (!stream.flush()) fail(errors::record_wrong(fmt::format("{}: cannot be written", path.string())));
  }
}

}  // namespace halfstep::opgen
