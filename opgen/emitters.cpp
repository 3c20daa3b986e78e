#include <algorithm>

#include "opgen/emit.h"

namespace halfstep::opgen {

std::vector<const Record*> by_name(const Records& records) {
  std::vector<const Record*> list;
  for (const Record& record : records) list.push_back(&record);
  std::sort(list.begin(), list.end(), [](const Record* a, const Record* b) { return a->name < b->name; });
  return list;
}

std::vector<Importer> importers() { return {{"onnx", "ONNX", {"onnx"}}, {"paddle", "Paddle", {"paddle", "pir"}}}; }

std::vector<OutputFile> emit_all(const Records& records, const std::vector<Importer>& all) {
  std::vector<OutputFile> files = {
      {"halfstep/core/ir/ops.h", emit_ops_header(records)},
      {"halfstep/core/ir/ops_records.h", emit_ops_records(records)},
      {"halfstep/core/ir/ops.cpp", emit_ops_table(records)},
      {"halfstep/engine/kernels/ops.h", emit_kernel_ops(records)},
      {"halfstep/engine/kernels/table.cpp", emit_kernel_table(records)},
      {"halfstep/core/arith/pointwise_functions.h", emit_pointwise_functions(records)},
      {"halfstep/engine/kernels/pointwise.cpp", emit_pointwise_kernels(records)},
      {"halfstep/core/arith/functions.cpp", emit_function_table(records)},
      {"halfstep/passes/gradient/gradients.h", emit_gradients_header()},
      {"halfstep/passes/gradient/gradients.cpp", emit_gradients(records)},
      {"docs/operators.md", emit_docs(records)},
      {"tests/op_cases.cpp", emit_op_cases(records)},
      {"python/halfstep/ops.py", emit_python(records)},
      {"python/halfstep/ops.pyi", emit_python_stub(records)},
  };
  for (const Importer& importer : all) {
    files.push_back({fmt::format("halfstep/formats/{}/forms.cpp", importer.folder), emit_foreign_forms(importer)});
    files.push_back({fmt::format("docs/{}.md", importer.folder), emit_foreign_docs(records, importer)});
  }
  for (OutputFile& file : emit_ops_sources(records)) files.push_back(std::move(file));
  return files;
}

}  // namespace halfstep::opgen
