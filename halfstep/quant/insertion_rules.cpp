#include "halfstep/quant/insertion_rules.h"

#include <algorithm>

#include "halfstep/base/status.h"
#include "halfstep/ir/op_info.h"

namespace halfstep::quant {
namespace {

/// Kinds of operators, which exist; none where the key is not there.
std::vector<std::string> kinds(YamlReader& reader, const std::string& key) {
  if (!reader.has(key)) return {};
  std::vector<std::string> names = reader.texts(key);
  for (const std::string& name : names) require_operator(name, reader.where(key));
  return names;
}

std::vector<std::string> weighted_kinds(YamlReader& reader, const std::string& key) {
  std::vector<std::string> names = kinds(reader, key);
  for (const std::string& name : names) {
    if (require_operator(name, key).quant.weight < 0)
      fail("{}: found {}, expected operators that store weights", reader.where(key), name);
  }
  return names;
}

Ends ends(YamlReader& reader, const std::string& key) {
  if (!reader.has(key)) return Ends::asked;
  const std::string text = reader.text(key, {"asked", "always", "never"});
  return text == "always" ? Ends::always : text == "never" ? Ends::never : Ends::asked;
}

}  // namespace

InsertionRules read_insertion(YamlReader reader) {
  InsertionRules rules;
  rules.asks = kinds(reader, "asks");
  rules.gives = kinds(reader, "gives");
  if (rules.asks.empty() && rules.gives.empty())
    fail("{}: found neither asks nor gives, expected operators that want quantizers", reader.where("asks"));
  rules.passes = kinds(reader, "passes");
  rules.skips = kinds(reader, "skips");
  rules.fuses = kinds(reader, "fuses");
  rules.weights = weighted_kinds(reader, "weights");
  rules.unsigned_behind = kinds(reader, "unsigned_behind");
  rules.sign_of_inputs = kinds(reader, "sign_of_inputs");
  if (reader.has("merges")) {
    for (YamlReader& pair : reader.maps("merges")) {
      rules.merges.emplace_back(pair.text("of"), pair.text("into"));
      for (const std::string& name : {rules.merges.back().first, rules.merges.back().second})
        require_operator(name, pair.where("of"));
      pair.finish();
    }
  }
  if (reader.has("propagates")) {
    YamlReader propagates = reader.map("propagates");
    rules.propagates_from = kinds(propagates, "through");
    rules.propagates_to = kinds(propagates, "to");
    propagates.finish();
  }
  rules.inputs = ends(reader, "inputs");
  rules.outputs = ends(reader, "outputs");
  reader.finish();
  return rules;
}

}  // namespace halfstep::quant
