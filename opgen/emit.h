// What opgen writes. Another output is one more function and one more line in emitters.cpp.
#pragma once

#include <string>
#include <vector>

#include "opgen/record.h"
#include "opgen/schema.h"

namespace halfstep::opgen {

struct OutputFile {
  std::string path;  ///< below --out
  std::string text;
};

/// A foreign operator that a function of our own translates: NAME.cpp or DOMAIN.NAME.cpp, which starts with a comment.
struct Form {
  std::string stem, doc;
};

/// A folder in halfstep/formats and what it imports.
struct Importer {
  std::string folder, title;
  std::vector<std::string> formats;  ///< of `foreign` entries
  std::vector<Form> forms = {};
};

/// All of them, without functions.
std::vector<Importer> importers();

/// halfstep/core/ir/record_enums.h.
OutputFile emit_enums(const std::vector<Enum>& enums);

/// All outputs that are made of records, in a fixed order.
std::vector<OutputFile> emit_all(const Records& records, const std::vector<Importer>& all = importers());

std::string emit_ops_header(const Records& records);
std::string emit_ops_records(const Records& records);
/// One source for each record file: inference, record and builder of its operators.
std::vector<OutputFile> emit_ops_sources(const Records& records);
std::string emit_ops_table(const Records& records);
std::string emit_kernel_ops(const Records& records);
std::string emit_kernel_table(const Records& records);
std::string emit_pointwise_functions(const Records& records);
std::string emit_pointwise_kernels(const Records& records);
std::string emit_function_table(const Records& records);
std::string emit_gradients_header();
std::string emit_gradients(const Records& records);
std::string emit_docs(const Records& records);
/// docs/FOLDER.md: the operators that can be imported.
std::string emit_foreign_docs(const Records& records, const Importer& importer);
/// The table of the functions in halfstep/formats/FOLDER/ops.
std::string emit_foreign_forms(const Importer& importer);
std::string emit_op_cases(const Records& records);
std::string emit_python(const Records& records);
std::string emit_python_stub(const Records& records);

/// Records by name, the order of every table.
std::vector<const Record*> by_name(const Records& records);

/// The dtype of a port in words: "float", "T", "like x".
std::string type_text(const TypeSpec& type);
/// Dtype, dims and presence of a port in words: "f32[s], unless is_test".
std::string port_text(const Port& port);
/// " of com.microsoft, from 13 on, until 17": where a foreign name holds.
std::string foreign_versions(const Foreign& foreign);
/// "x = data, axes = input 1": what is called otherwise there.
std::string foreign_names(const Foreign& foreign);
/// The attributes as members of a struct NAME, and its constructor from Attributes.
std::string attribute_members(const Record& record);
/// The whole of `std::vector<Type> infer_NAME(const OpSite& site)`.
std::string infer_function(const Record& record);
/// The record as constants of halfstep/core/ir/op_record.h.
std::string operator_record(const Record& record);
/// The whole of `int64_t flops_NAME(const OpTypes& types)` for a record that says its operations.
std::string flops_function(const Record& record);
/// The constants kFloat and so on that the inference functions of the records use.
std::string type_class_constants(const Records& records);

}  // namespace halfstep::opgen
