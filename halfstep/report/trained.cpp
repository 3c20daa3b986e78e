#include "halfstep/report/trained.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/common/text_table.h"
#include "halfstep/report/training_history.h"

namespace halfstep::report {
namespace {

std::string accuracy_text(const api::TrainResult& trained) {
  const std::string where = fmt::format(" on {} samples ({}), ", trained.samples, trained.tested);
  if (trained.tested_loss && trained.accuracy)
    return fmt::format("accuracy {:.2f} %, loss {:.4g}{}training ", 100 * *trained.accuracy, *trained.tested_loss,
                       where);
  if (trained.tested_loss) return fmt::format("loss {:.4g}{}training ", *trained.tested_loss, where);
  if (!trained.accuracy) return fmt::format("{} samples without labels, ", trained.samples);
  return fmt::format("accuracy {:.2f} %{}", 100 * *trained.accuracy, where);
}

/// Validation results by epoch.
std::string epochs_table(const train::TrainingHistory& history) {
  if (history.validation_results.empty()) return "";
  const bool has_right =
      std::ranges::any_of(history.validation_results, [](const auto& each) { return each.right.has_value(); });
  std::vector<std::string> header = {"epoch", "loss", ""};
  if (has_right) header.insert(header.begin() + 1, history.has_labels ? "accuracy %" : "agreement %");
  Table table(std::move(header));
  for (size_t epoch = 0; epoch < history.validation_results.size(); ++epoch) {
    const train::ValidationResult& validation_result = history.validation_results[epoch];
    std::vector<std::string> row = {std::to_string(epoch), fmt::format("{:.4g}", validation_result.loss),
                                    static_cast<int64_t>(epoch) == history.best ? "kept" : ""};
    if (has_right)
      row.insert(row.begin() + 1,
                 validation_result.right ? fmt::format("{:.2f}", 100 * *validation_result.right) : "-");
    table.add(std::move(row));
  }
  return table.text() + "\n";
}

/// Effects of the recipe: frozen weights and recomputed batch norm statistics.
std::string recipe_text(const api::TrainResult& trained) {
  std::string text;
  if (trained.frozen_weights > 0) text += fmt::format("{} weights oscillated and are frozen\n", trained.frozen_weights);
  if (!trained.renormalized.empty()) text += trained.renormalized + "\n";
  return text;
}

std::string operators_table(const api::TrainResult& trained) {
  double all = 0;
  for (const train::OperatorTime& time : trained.operators) all += time.milliseconds;
  Table table({"operator", "kernel", "calls", "ms per step", "share %"});
  for (const train::OperatorTime& time : trained.operators)
    table.add({time.op, time.kernel, fmt::format("{:g}", time.calls), fmt::format("{:.3f}", time.milliseconds),
               fmt::format("{:.1f}", 100 * time.milliseconds / all)});
  return "\n" + table.text();
}

std::string text_of_stage(const api::TrainResult& trained) {
  if (trained.was_finished)
    return fmt::format("already finished after {} epochs, nothing changed; {}digest {}\n", trained.epochs,
                       accuracy_text(trained), trained.digest);
  return fmt::format("{}{}{}{}loss {:.4f}, {:.1f} ms per step, digest {}\n{}", epochs_table(trained.history),
                     history_text(trained.history), recipe_text(trained), accuracy_text(trained), trained.loss,
                     trained.step_milliseconds, trained.digest,
                     trained.operators.empty() ? "" : operators_table(trained));
}

nlohmann::ordered_json json_of_stage(const api::TrainResult& trained) {
  nlohmann::ordered_json json = {{"digest", trained.digest},
                                 {"accuracy", trained.accuracy ? nlohmann::ordered_json(*trained.accuracy) : nullptr},
                                 {"loss", trained.loss},
                                 {"samples", trained.samples},
                                 {"tested", trained.tested},
                                 {"notes", trained.notes},
                                 {"first_epoch", trained.first_epoch},
                                 {"epochs", trained.epochs},
                                 {"was_finished", trained.was_finished},
                                 {"step_milliseconds", trained.step_milliseconds},
                                 {"frozen_weights", trained.frozen_weights},
                                 {"renormalized", trained.renormalized}};
  if (trained.tested_loss) json["tested_loss"] = *trained.tested_loss;
  if (!trained.history.validation_results.empty())
    json["validation"] = nlohmann::ordered_json::parse(train::to_text(trained.history));
  for (const train::OperatorTime& time : trained.operators)
    json["operators"].push_back(
        {{"operator", time.op}, {"kernel", time.kernel}, {"calls", time.calls}, {"milliseconds", time.milliseconds}});
  if (!trained.bits.empty()) json["bits"] = trained.bits;
  return json;
}

}  // namespace

std::string as_text(const api::TrainResult& trained) {
  std::string text;
  for (const api::TrainResult& stage : trained.stages)
    text += fmt::format("{}:\n{}\n", stage.bits, text_of_stage(stage));
  if (!trained.bits.empty()) text += trained.bits + ":\n";
  return text + text_of_stage(trained);
}

nlohmann::ordered_json to_json(const api::TrainResult& trained) {
  nlohmann::ordered_json json = json_of_stage(trained);
  for (const api::TrainResult& stage : trained.stages) json["stages"].push_back(json_of_stage(stage));
  return json;
}

std::string as_json(const api::TrainResult& trained) { return to_text(to_json(trained)); }

}  // namespace halfstep::report
