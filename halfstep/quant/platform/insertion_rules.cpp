#include "halfstep/quant/platform/insertion_rules.h"

#include <algorithm>

#include "halfstep/quant/platform/errors.h"
#include "halfstep/quant/platform/record_names.h"
#include "halfstep/quant/platform/yaml_reader.h"

namespace halfstep::quant {
namespace {

using Names = std::vector<std::string>;

constexpr std::string_view kQuirks[] = {"deconvolutions_alone", "single_output", "means_apart", "norms_with_relu",
                                        "parts_skipped"};  // in the order of QuirkKind

bool is_any(const OpInfo&) { return true; }
bool has_weights(const OpInfo& op) { return op.quant.weight >= 0; }
bool fuses_into_layers(const OpInfo& op) { return !op.quant.activation.empty(); }

Names kinds(const YamlReader& reader, const std::string& key, bool (*able)(const OpInfo&) = is_any) {
  return read_names(reader, key, operators_that(able));
}

Ends ends(const YamlReader& reader, const std::string& key) {
  const std::string text = reader.text(key);
  return text == "always" ? Ends::always : text == "never" ? Ends::never : Ends::asked;
}

void read_merges(InsertionRules& rules, const YamlReader& insert) {
  const Names all = operators_that(is_any);
  for (const YamlReader& pair : insert.maps("merges")) {
    const std::string of = read_name(pair, "of", all), into = read_name(pair, "into", all);
    if (!contains(rules.asks, into) && !contains(rules.gives, of))
      pair.object("", errors::merge_without_effect(of, into),
                  {"insert.asks", "insert.gives", pair.path_of("of"), pair.path_of("into")});
    rules.merges.emplace_back(of, into);
  }
}

void read_propagation(InsertionRules& rules, const YamlReader& insert) {
  if (!insert.has("propagates")) return;
  const YamlReader propagates = insert.map("propagates");
  rules.propagates_from = kinds(propagates, "through");
  rules.propagates_to = kinds(propagates, "to");
  if (rules.propagates_from.empty() != rules.propagates_to.empty())
    propagates.object("", errors::propagation_without_effect(), {"insert.propagates.through", "insert.propagates.to"});
}

void read_quirks(InsertionRules& rules, const YamlReader& insert) {
  for (const YamlReader& one : insert.maps("quirks")) {
    const std::string text = one.text("quirk");
    const auto known = std::ranges::find(kQuirks, text);
    if (known != std::end(kQuirks))  // an unknown name is reported by its key
      rules.quirks.push_back({static_cast<QuirkKind>(known - std::begin(kQuirks)), one.text("reason")});
  }
  rules.as_mqbench = insert.text("as") == "mqbench";
  if (rules.as_mqbench && rules.quirks.empty())
    insert.object("as", errors::mqbench_without_quirks(), {"insert.quirks"});
}

/// An operator in `gives` or `passes` always has a quantized result, so `skips` must not list it.
void object_to_contradictions(const InsertionRules& rules, const YamlReader& insert) {
  for (const auto& [key, names] : {std::pair("gives", &rules.gives), std::pair("passes", &rules.passes)}) {
    for (const std::string& name : *names) {
      if (contains(rules.skips, name))
        insert.object("skips", errors::skips_contradict(name, key), {insert.path_of(key)});
    }
  }
  if (rules.outputs == Ends::never && !rules.gives.empty())
    insert.object("outputs", errors::outputs_contradict_gives(), {"insert.gives"});
}

void object_to_idle_rules(const InsertionRules& rules, const YamlReader& insert, const YamlReader& record) {
  const auto needs = [&](const char* key, const Names& names, const char* other, bool is_there) {
    if (!names.empty() && !is_there)
      insert.object(key, errors::insertion_key_without_effect(other),
                    {"insert.asks", "insert.gives", "insert.unsigned_behind", "activations.codes"});
  };
  if (rules.asks.empty() && rules.gives.empty())
    insert.object("", errors::insertion_rules_ask_nothing(), {"insert.asks", "insert.gives"});
  needs("passes", rules.passes, "gives, whose quantizers it moves", !rules.gives.empty());
  needs("skips", rules.skips, "asks, to which it lists exceptions", !rules.asks.empty());
  const bool is_signed = record.map("activations").text("codes") == "signed";
  needs("unsigned_behind", rules.unsigned_behind, "signed codes of activations", is_signed);
  needs("sign_of_inputs", rules.sign_of_inputs, "unsigned_behind, which it propagates",
        is_signed && !rules.unsigned_behind.empty());
}

}  // namespace

std::string name(QuirkKind kind) { return std::string(kQuirks[static_cast<size_t>(kind)]); }

std::vector<std::string> quirk_names() { return {std::begin(kQuirks), std::end(kQuirks)}; }

bool InsertionRules::follows(QuirkKind kind) const {
  return as_mqbench && std::ranges::find(quirks, kind, &Quirk::kind) != quirks.end();
}

InsertionRules read_insertion(const YamlReader& record) {
  const YamlReader insert = record.map("insert");
  InsertionRules rules;
  rules.asks = kinds(insert, "asks");
  rules.gives = kinds(insert, "gives");
  rules.passes = kinds(insert, "passes");
  rules.skips = kinds(insert, "skips");
  rules.fuses = kinds(insert, "fuses", fuses_into_layers);
  rules.weights = kinds(insert, "weights", has_weights);
  rules.unsigned_behind = kinds(insert, "unsigned_behind");
  rules.sign_of_inputs = kinds(insert, "sign_of_inputs");
  read_merges(rules, insert);
  read_propagation(rules, insert);
  read_quirks(rules, insert);
  rules.inputs = ends(insert, "inputs");
  rules.outputs = ends(insert, "outputs");
  object_to_contradictions(rules, insert);
  object_to_idle_rules(rules, insert, record);
  return rules;
}

}  // namespace halfstep::quant
