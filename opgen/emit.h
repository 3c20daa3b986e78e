// Outputs of opgen. A new output needs a function here and a line in emitters.cpp.
#pragma once

#include <string>
#include <vector>

#include "opgen/record.h"
#include "opgen/schema.h"

namespace halfstep::opgen {

struct OutputFile {
  std::string path;  ///< relative to --out
  std::string text;
};

/// A hand-written translation of a foreign operator: NAME.cpp or DOMAIN.NAME.cpp. The file starts with a comment.
struct Form {
  std::string stem, doc;
};

/// A folder in halfstep/formats and the formats that it imports.
struct Importer {
  std::string folder, title;
  std::vector<std::string> formats;  ///< formats in `foreign` entries
  std::vector<Form> forms = {};
};

/// Returns all importers, without hand-written translations.
std::vector<Importer> importers();

/// Writes halfstep/core/ir/record_enums.h.
OutputFile emit_enums(const std::vector<Enum>& enums);

/// Returns all outputs generated from records, in a fixed order.
std::vector<OutputFile> emit_all(const Records& records, const std::vector<Importer>& all = importers());

std::string emit_ops_header(const Records& records);
std::string emit_ops_records(const Records& records);
/// One source for each record file: inference functions, records and builders of its operators.
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
/// docs/FOLDER.md: the supported foreign operators.
std::string emit_foreign_docs(const Records& records, const Importer& importer);
/// The table of hand-written translations in halfstep/formats/FOLDER/ops.
std::string emit_foreign_forms(const Importer& importer);
std::string emit_op_cases(const Records& records);
std::string emit_python(const Records& records);
std::string emit_python_stub(const Records& records);

/// Records sorted by name, the order of every table.
std::vector<const Record*> by_name(const Records& records);

/// Dtype of a port as text: "float", "T", "like x".
std::string type_text(const TypeSpec& type);
/// Dtype, dims and presence of a port as text: "f32[s], unless is_test".
std::string port_text(const Port& port);
/// Domain and versions of a foreign name: " of com.microsoft, from 13 on, until 17".
std::string foreign_versions(const Foreign& foreign);
/// Differing names in the foreign format: "x = data, axes = input 1".
std::string foreign_names(const Foreign& foreign);
/// Attributes as members of a struct NAME, and its constructor from Attributes.
std::string attribute_members(const Record& record);
/// Definition of `std::vector<Type> infer_NAME(const OpSite& site)`.
std::string infer_function(const Record& record);
/// The record as constants of halfstep/core/ir/op_record.h.
std::string operator_record(const Record& record);
/// Definition of `int64_t flops_NAME(const OpTypes& types)`, for a record with `flops`.
std::string flops_function(const Record& record);
/// Type class constants, such as kFloat, for the inference functions.
std::string type_class_constants(const Records& records);

}  // namespace halfstep::opgen
