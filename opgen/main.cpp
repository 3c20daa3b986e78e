// opgen --schema ops/schema.yaml --out DIR [--form FILE.cpp]... FILES.yaml...: generates C++, documentation and tests
// from operator records.
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "opgen/program.h"

namespace {

constexpr const char* kUsage = "usage: opgen --schema ops/schema.yaml --out DIR [--form FILE.cpp]... FILES.yaml...\n";

}  // namespace

int main(int argc, char** argv) {
  std::string schema, out;
  std::vector<std::string> files, forms;
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const bool has_value = i + 1 < argc;
    if (arg == "--schema" && has_value) {
      schema = argv[++i];
    } else if (arg == "--out" && has_value) {
      out = argv[++i];
    } else if (arg == "--form" && has_value) {
      forms.emplace_back(argv[++i]);
    } else if (arg.starts_with("--")) {
      fmt::print(stderr, "{}", kUsage);
      return 2;
    } else {
      files.emplace_back(arg);
    }
  }
  if (schema.empty() || out.empty() || files.empty()) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  try {
    const auto records = halfstep::opgen::load_all(schema, files);
    auto outputs = halfstep::opgen::emit_all(records, halfstep::opgen::load_importers(forms));
    outputs.push_back(halfstep::opgen::emit_enums(halfstep::opgen::load_enums(schema)));
    halfstep::opgen::write_all(outputs, out);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}
