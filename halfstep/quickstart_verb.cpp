#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "halfstep/data.h"
#include "halfstep/halfstep.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/network.h"
#include "halfstep/source.h"
#include "halfstep/train/calibrate.h"
#include "halfstep/train/executable.h"
#include "halfstep/train/fit.h"
#include "halfstep/train/network.h"
#include "halfstep/train/run.h"

namespace halfstep {
namespace {

/// Everything one quickstart works on.
class Quickstart {
 public:
  Quickstart(const QuickstartRequest& request, const Settings& settings)
      : request_(request),
        settings_(settings),
        platform_(quant::load_platform(request.target.platform, request.target.overrides)),
        given_(request.model.empty() ? Model() : load_given(request)),
        data_(request.model.empty() ? open_data(request.data) : open_data_for(given_, request.data)),
        parts_(request.model.empty() ? train::split(data_) : parts_for(given_, data_)),
        pool_(settings.threads) {
    report_.has_accuracy = data_.has_labels();
    report_.platform = platform_.name;
    report_.data = data_.name;
    report_.samples = parts_.test.size();
  }

  QuickstartReport run() {
    Model network = request_.model.empty() ? fresh_network() : given_;
    const PreparedOptions widths = widths_of();
    require_feasible(quant::prepare(network, platform_, widths));
    io::make_folder(request_.out);
    if (request_.model.empty()) timed("float", [&] { network = fit(network, float_options(), "float training"); });
    report_.accuracy_float = accuracy(network);
    save_model(network, request_.out / "float.safetensors");

    Model prepared;
    timed("calibrate", [&] {
      prepared = quant::prepare(network, platform_, widths);
      train::calibrate(prepared, parts_.train, {.seed = settings_.seed}, pool_, settings_.progress);
      prepared.source = source_of(network, parts_.train, request_.keep_samples, settings_.seed);
      require_same_floats(prepared, parts_.train, pool_);
    });
    report_.accuracy_calibrated = accuracy(prepared);
    if (request_.tune_epochs > 0) timed("finetune", [&] { prepared = fit(prepared, tune_options(), "fine-tuning"); });
    report_.accuracy_finetuned = accuracy(prepared);
    save_model(prepared, request_.out / "prepared.safetensors");
    report_.weights_digest = digest_hex(prepared);
    report_.audit = quant::audit(prepared);

    Model integer;
    timed("convert", [&] { integer = quant::convert(prepared, request_.convert).model; });
    save_model(integer, request_.out / "integer.safetensors");
    report_.accuracy_integer = accuracy(integer);
    timed("verify", [&] {
      report_.roads = compare_on(roads_of(prepared, integer), parts_.test, pool_, settings_.progress);
      check_meaning(report_.roads, prepared, integer, parts_.test, {.seed = settings_.seed}, pool_, settings_.progress);
    });
    finish();
    return std::move(report_);
  }

 private:
  using PreparedOptions = quant::PrepareOptions;

  /// What cannot become integers or be trained is said before any work.
  void require_feasible(const Model& prepared) const {
    quant::require_integers(prepared, request_.convert);
    if (request_.tune_epochs > 0) train::training_step(prepared, parts_.train, tune_options());
  }

  PreparedOptions widths_of() const {
    return {request_.target.weight_bits, request_.target.feature_bits, request_.target.edge_bits};
  }

  static Model load_given(const QuickstartRequest& request) {
    Model model = load_network(request.model, request.data, request.preprocess);
    if (const std::string stage = stage_of(model); stage != "float")
      fail("{}: found a network of stage {}, expected float", request.model.string(), stage);
    if (request.preprocess) train::set_preprocess(model, *request.preprocess);
    return model;
  }

  /// 0 without labels.
  double accuracy(const Model& model) { return data_.has_labels() ? train::accuracy(model, parts_.test, pool_) : 0; }

  Model fresh_network() {
    require_every_class(data_);
    Model network = train::create_network("digits", data_.sample_dims(), static_cast<int64_t>(data_.classes.size()),
                                          settings_.seed);
    train::set_preprocess(network, train::natural_scale(parts_.train));
    parts_.feed(network);
    return network;
  }

  train::FitOptions float_options() const {
    train::FitOptions options;
    options.epochs = request_.float_epochs;
    options.batch = request_.batch;
    options.learning_rate = 0.05;
    options.optimizer.weight_decay = 5e-4;
    options.average_decay = 0.99;
    options.seed = settings_.seed;
    options.augment = request_.augment;
    return options;
  }

  train::FitOptions tune_options() const {
    train::FitOptions options = float_options();
    options.epochs = request_.tune_epochs;
    options.distill = request_.distill;
    options.keeps_best = true;
    options.learning_rate = request_.tune_rate.value_or(request_.model.empty() ? 0.01 : 0.001);
    return options;
  }

  Model fit(const Model& model, const train::FitOptions& options, std::string_view stage) {
    train::Fit run(model, parts_.train, options, pool_);
    const auto best = request_.out / "prepared.safetensors";
    while (!run.finished()) train::run_epoch(run, best, settings_.progress, stage);
    report_.held_back = run.state().course;
    return run.result();
  }

  template <class F>
  void timed(const std::string& stage, F work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    report_.seconds.emplace_back(stage,
                                 std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

  void finish() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    report_.peak_rss_bytes = int64_t{usage.ru_maxrss} * 1024;  // Linux counts in KiB
    report_.float_bytes = static_cast<int64_t>(std::filesystem::file_size(request_.out / "float.safetensors"));
    report_.integer_bytes = static_cast<int64_t>(std::filesystem::file_size(request_.out / "integer.safetensors"));
    io::write_file(request_.out / "report.json", report_json(report_));
  }

  const QuickstartRequest& request_;
  const Settings& settings_;
  quant::Platform platform_;
  Model given_;
  io::Dataset data_;
  train::TrainTest parts_;
  ThreadPool pool_;
  QuickstartReport report_;
};

/// Stands for an infinite ratio, which JSON lacks: the 24 bits of a float are 150 dB.
constexpr double kLargestSqnr = 200.0;

nlohmann::ordered_json layer_json(const verify::LayerReport& report) {
  nlohmann::ordered_json json;
  json["name"] = report.layer.name;
  json["op"] = report.layer.op;
  json["weight_bits"] =
      report.layer.weight_bits ? nlohmann::ordered_json(*report.layer.weight_bits) : nlohmann::ordered_json();
  json["feature_bits"] = report.layer.feature_bits;
  json["scale"] = static_cast<double>(report.layer.scale);
  json["compared"] = report.compared;
  json["differing"] = report.differing;
  if (report.meaning)
    json["meaning"] = {{"compared", report.meaning->compared},
                       {"near_ties", report.meaning->near_ties},
                       {"beyond", report.meaning->beyond}};
  json["sqnr_db"] = std::clamp(report.sqnr_db, -kLargestSqnr, kLargestSqnr);
  return json;
}

}  // namespace

QuickstartReport quickstart(const QuickstartRequest& request, const Settings& settings) {
  io::require_folder_target(request.out);
  return Quickstart(request, settings).run();
}

std::string report_json(const QuickstartReport& report) {
  nlohmann::ordered_json json;
  json["platform"] = report.platform;
  json["data"] = report.data;
  if (report.has_accuracy)
    json["accuracy"] = {{"float", report.accuracy_float},
                        {"calibrated", report.accuracy_calibrated},
                        {"finetuned", report.accuracy_finetuned},
                        {"integer", report.accuracy_integer}};
  if (!report.held_back.standings.empty())
    json["held_back"] = nlohmann::ordered_json::parse(train::to_text(report.held_back));
  json["samples"] = report.samples;
  for (const auto& [stage, seconds] : report.seconds) json["seconds"][stage] = seconds;
  json["peak_rss_bytes"] = report.peak_rss_bytes;
  json["model_bytes"] = {{"float", report.float_bytes}, {"integer", report.integer_bytes}};
  json["weights_digest"] = report.weights_digest;
  json["cosine"] = report.roads.cosine;
  if (report.roads.agreement) json["agreement"] = *report.roads.agreement;
  if (!report.roads.unchecked.empty()) json["meaning_unchecked"] = report.roads.unchecked;
  json["layers"] = nlohmann::ordered_json::array();
  for (const auto& layer : report.roads.layers) json["layers"].push_back(layer_json(layer));
  return json.dump(2) + "\n";
}

}  // namespace halfstep
