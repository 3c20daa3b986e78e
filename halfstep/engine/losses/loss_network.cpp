#include "halfstep/engine/losses/loss_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/engine/capture/captured_network.h"
#include "halfstep/engine/losses/errors.h"
#include "halfstep/engine/losses/terms.h"

namespace halfstep::losses {
namespace {

using Kind = Operand::Kind;

std::vector<std::string> names_of(const auto& ports) {
  const auto names = ports | std::views::keys;
  return {names.begin(), names.end()};
}

/// Finds the values of the terms, and gives each one position among the arguments.
class Binding {
 public:
  explicit Binding(const Ports& ports) : ports_(ports) {}

  /// Positions of the operands of a term among the arguments, and of its weight. -1 for an absent one.
  std::vector<int> bind(const Term& term) {
    std::vector<int> positions;
    std::string first;
    for (size_t i = 0, outputs = 0; i < term.info->operands.size(); ++i) {
      const Operand& operand = term.info->operands[i];
      const auto found = term.operands.find(operand.name);
      const std::string given = found == term.operands.end() ? "" : found->second;
      if (operand.kind == Kind::output) {
        const std::string name = output(term, operand, given, outputs++);
        if (first.empty()) first = name;
        positions.push_back(argument(output_argument(name), type_of_output(name)));
      } else {
        positions.push_back(target(term, operand, given, first));
      }
    }
    const auto weight = term.operands.find("weight");
    positions.push_back(weight == term.operands.end() ? -1 : known_target(term, "weight", weight->second));
    return positions;
  }

  const std::vector<capture::NetworkInput>& inputs() const { return inputs_; }

 private:
  Type type_of_output(const std::string& name) const {
    return std::ranges::find(ports_.outputs, name, [](const auto& port) { return port.first; })->second;
  }

  std::string output(const Term& term, const Operand& operand, const std::string& given, size_t position) const {
    const std::vector<std::string> names = names_of(ports_.outputs);
    if (given.empty()) {
      if (position >= names.size())
        fail(errors::loss_value_unknown(term.info->name, operand.name, "none",
                                        fmt::format("{} outputs of the network", position + 1)));
      return names[position];
    }
    if (std::ranges::find(names, given) == names.end())
      fail(errors::loss_value_unknown(term.info->name, operand.name,
                                      fmt::format("'{}'{}", given, known_names(given, names)),
                                      "an output of the network"));
    return given;
  }

  int known_target(const Term& term, const std::string& operand, const std::string& given) {
    const auto found = ports_.targets.find(given);
    if (found == ports_.targets.end())
      fail(errors::loss_value_unknown(term.info->name, operand,
                                      fmt::format("'{}'{}", given, known_names(given, names_of(ports_.targets))),
                                      "a target of the data"));
    return argument(target_argument(given), found->second);
  }

  int target(const Term& term, const Operand& operand, const std::string& given, const std::string& output) {
    if (!given.empty()) return known_target(term, operand.name, given);
    if (ports_.targets.contains(operand.name)) return known_target(term, operand.name, operand.name);
    if (operand.kind == Kind::length) return -1;
    if (ports_.targets.contains(output)) return known_target(term, operand.name, output);
    if (ports_.targets.size() == 1) return known_target(term, operand.name, ports_.targets.begin()->first);
    fail(errors::loss_value_unknown(
        term.info->name, operand.name,
        ports_.targets.empty() ? "none" : fmt::format("{}", fmt::join(names_of(ports_.targets), ", ")),
        fmt::format("'{}' or '{}' in the data, or {}=NAME", operand.name, output, operand.name)));
  }

  int argument(const std::string& name, const Type& type) {
    const auto found = std::ranges::find(inputs_, name, &capture::NetworkInput::name);
    if (found != inputs_.end()) return static_cast<int>(found - inputs_.begin());
    inputs_.push_back({name, type});
    return static_cast<int>(inputs_.size()) - 1;
  }

  const Ports& ports_;
  std::vector<capture::NetworkInput> inputs_;
};

Array computed(const Term& term, const std::vector<int>& positions, const Arrays& arguments) {
  Arrays values;
  for (const int position : positions)
    values.push_back(position < 0 ? Array() : arguments[static_cast<size_t>(position)]);
  const Array weight = values.back();
  values.pop_back();
  const Array found = loss(*term.info, std::move(values), term.options, {term.reduction, weight, term.ignore});
  return term.factor == 1 ? found : found * term.factor;
}

}  // namespace

NamedLoss named_loss(std::string_view text) {
  if (text.empty()) return {};
  return {std::string(text), [terms = parse_loss(text)](const Ports& ports) { return loss_network(terms, ports); }};
}

std::string output_argument(const std::string& output) { return "output." + output; }
std::string target_argument(const std::string& target) { return "target." + target; }

Model loss_network(const LossText& loss, const Ports& ports) {
  Binding binding(ports);
  std::vector<std::vector<int>> positions;
  for (const Term& term : loss) positions.push_back(binding.bind(term));
  const auto body = [&](const Arrays& arguments) -> Arrays {
    Array total;
    for (size_t i = 0; i < loss.size(); ++i) {
      const Array term = computed(loss[i], positions[i], arguments);
      total = total ? total + term : term;
    }
    return {reshape(total, {1})};
  };
  return capture::network_of("loss", binding.inputs(), body, {"loss"}, [](const Array&) { return ""; });
}

}  // namespace halfstep::losses
