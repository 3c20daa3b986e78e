// python/halfstep/ops.py and its stub: one function per operator.
#include <algorithm>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/python.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

/// Records callable in Python. Operators with regions run only inside a graph.
std::vector<const Record*> callable(const Records& records) {
  std::vector<const Record*> list = by_name(records);
  std::erase_if(list, [](const Record* record) { return !record->regions.empty(); });
  return list;
}

/// Text as in a triple-quoted raw string.
std::string docstring(const Record& record) {
  std::string text;
  bool at_start = true;
  for (const char c : "\"\"\"" + python_doc(record)) {
    if (at_start && c != '\n') text += "    ";
    at_start = c == '\n';
    text += c == '\\' ? "\\\\" : std::string(1, c);
  }
  return text + "    \"\"\"\n";
}

void write_function(Text& text, const Record& record) {
  const std::string name = python_name(record.name);
  std::vector<std::string> values;
  for (const Port& port : record.inputs) values.push_back(python_name(port.name));
  for (const AttributeSpec& spec : record.attributes) values.push_back(python_name(spec.name));
  text.line("\n\ndef {}({}):", name, python_parameters(record));
  text.add(docstring(record));
  text.line("    return _{}({})", record.name, join(values, ", "));
  text.line("\n\n_{} = _operator(\"{}\")", record.name, record.name);
}

/// Whether the port has the NumPy type of the first operand. The array type includes dtype and rank, so only ports like
/// the first operand qualify.
bool is_like_first(const Port& port, const Record& record) {
  return !record.inputs.empty() && port.type.kind == TypeSpec::Kind::like && port.dims && port.dims->like &&
         port.type.name == record.inputs[0].name;
}

void write_results_class(Text& text, const Record& record) {
  text.line("\nclass {}(Results[_T]):", python_results_class(record));
  for (const Port& port : record.outputs)
    text.line("    @property\n    def {}(self) -> _T: ...", python_name(port.name));
}

void write_stub(Text& text, const Record& record) {
  const bool several = record.outputs.size() > 1;
  if (several) write_results_class(text, record);
  const auto write = [&](const char* first) {
    const std::string result = several ? fmt::format("{}[{}]", python_results_class(record), first) : first;
    text.line("def {}({}) -> {}: ...", python_name(record.name), python_parameters(record, first), result);
  };
  text.line("");
  const bool alike = std::all_of(record.outputs.begin(), record.outputs.end(),
                                 [&](const Port& port) { return is_like_first(port, record); });
  if (record.inputs.empty()) return write("NDArray[Any]");
  if (alike) return write("_T");
  text.line("@overload");
  write("NDArray[Any]");
  text.line("@overload");
  write("_T");
}

void write_names(Text& text, const Records& records) {
  text.line("__all__ = [");
  for (const Record* record : callable(records)) text.line("    \"{}\",", python_name(record->name));
  text.line("]");
}

}  // namespace

std::string emit_python(const Records& records) {
  Text text;
  text.line("\"\"\"Every operator as a function. Written by opgen from the records in ops/.\n");
  text.line(
      "Operands are NumPy arrays, buffers or CPU tensors of any library that speaks DLPack; results are new memory in");
  text.line("the same kind as the operands. Pass operands by position or keyword, attributes by keyword.\n\"\"\"\n");
  text.line("from halfstep._core import operator as _operator\n");
  write_names(text, records);
  for (const Record* record : callable(records)) write_function(text, *record);
  return text.str();
}

std::string emit_python_stub(const Records& records) {
  Text text;
  text.line("# Written by opgen from the records in ops/.");
  text.line("from typing import Any, Literal, Optional, Sequence, TypeVar, overload\n");
  text.line("from numpy.typing import NDArray\n");
  text.line("from halfstep._core import Results, Tensor\n");
  text.line("_T = TypeVar(\"_T\", bound=Tensor)\n");
  write_names(text, records);
  for (const Record* record : callable(records)) write_stub(text, *record);
  return text.str();
}

}  // namespace halfstep::opgen
