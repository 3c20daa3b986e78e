#include "halfstep/api/quickstart.h"

#include <fmt/format.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "halfstep/api/detail/network_source.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/api/verify.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/loop/fit.h"
#include "halfstep/train/loop/run_folder.h"

namespace halfstep::api {
namespace {

constexpr const char* kFloatFile = "float.safetensors";
constexpr const char* kPreparedFile = "prepared.safetensors";
constexpr const char* kIntegerFile = "integer.safetensors";

/// State of one quickstart run.
class Quickstart {
 public:
  Quickstart(const QuickstartRequest& request, const Settings& settings)
      : request_(request),
        settings_(settings),
        start_(started(request, settings)),
        parts_(parts_for(start_, request.data)),
        pool_(settings.threads) {
    if (request.quantize.pad_channels)
      start_ = with_padded_channels(start_, request.platform, request.quantize.prepare, parts_.train, pool_).model;
    report_.has_accuracy = data::have_answers(parts_.test, start_);
    report_.platform = request.platform.name;
    report_.data = request.data.name;
    report_.samples = parts_.test.size();
    report_.tested = parts_.tested;
    report_.notes = notes_on(start_, request.data);
  }

  QuickstartResult run() {
    Model network = quant::own_weights(start_, request_.quantize.prepare);
    require_feasible(network);
    std::optional<io::Claim> claim;
    if (writes()) claim = io::Claim::of_folder(request_.out);
    require_free(request_);  // another process may have created it meanwhile
    if (!request_.network) timed("float", [&] { network = fit(network, float_options(), "float training"); });
    report_.accuracy_float = accuracy(network);
    report_.float_bytes = save(network, kFloatFile);

    Model prepared;
    timed("calibrate", [&] {
      prepared = quant::prepare(network, request_.platform, request_.quantize.prepare);
      train::CalibrateOptions options = request_.quantize.calibration;
      options.seed = settings_.seed;
      auto calibrated = train::calibrate(prepared, parts_.train, options, pool_, settings_.progress);
      std::ranges::move(calibrated.warnings, std::back_inserter(report_.notes));
      prepared.source = source_of(network, parts_.train, request_.quantize.keep_samples, settings_.seed);
      require_same_floats(prepared, parts_.train, pool_);
    });
    report_.accuracy_calibrated = accuracy(prepared);
    if (request_.tune_epochs > 0) timed("finetune", [&] { prepared = fit(prepared, tune_options(), "fine-tuning"); });
    report_.accuracy_finetuned = accuracy(prepared);
    save(prepared, kPreparedFile);
    report_.weights_digest = digest_hex(prepared);
    report_.audit = quant::audit(prepared);

    Model integer;
    timed("convert", [&] { integer = quant::convert(prepared, request_.convert).model; });
    report_.integer_bytes = save(integer, kIntegerFile);
    report_.accuracy_integer = accuracy(integer);
    timed("verify", [&] {
      report_.equivalence = prove(paths_of(prepared, integer), prepared, parts_.test, {.seed = settings_.seed}, pool_,
                                  settings_.progress);
    });
    report_.peak_rss_bytes = peak_rss_bytes();
    return {std::move(network), std::move(prepared), std::move(integer), std::move(report_)};
  }

 private:
  bool writes() const { return !request_.out.empty(); }

  /// Returns the size of the file in bytes, or 0 if nothing is written.
  int64_t save(const Model& model, const char* file) const {
    if (!writes()) return 0;
    save_model(model, request_.out / file);
    return static_cast<int64_t>(std::filesystem::file_size(request_.out / file));
  }

  /// Reports all obstacles to quantization, conversion and training before any work.
  void require_feasible(const Model& network) const {
    std::vector<Diagnostic> objections;
    const Model prepared =
        quant::prepare_with_objections(network, request_.platform, request_.quantize.prepare, objections);
    const std::string where = fmt::format("network '{}'", network.graph.name());
    collect(objections, "", where, [&] { quant::require_integers(prepared, request_.convert); });
    if (request_.tune_epochs > 0)
      collect(objections, "", where, [&] { train::training_step(prepared, parts_.train, tune_options()); });
    fail_on_any(std::move(objections));
  }

  static Model started(const QuickstartRequest& request, const Settings& settings) {
    Model model = request.network ? *request.network
                                  : create_network("digits", request.data, settings.seed, request.quantize.preprocess);
    require_stage(model, Stage::float_network);
    data::change_preprocess(model, request.quantize.preprocess);
    return model;
  }

  /// Returns 0 without labels.
  double accuracy(const Model& model) { return report_.has_accuracy ? train::accuracy(model, parts_.test, pool_) : 0; }

  train::FitOptions float_options() const {
    train::FitOptions options;
    options.epochs = request_.float_epochs;
    options.batch = request_.batch;
    options.learning_rate = 0.05;
    options.optimizer.weight_decay = 5e-4;
    options.ema = 0.99;
    options.seed = settings_.seed;
    options.augment = request_.augment;
    return options;
  }

  train::FitOptions tune_options() const {
    train::FitOptions options = float_options();
    options.epochs = request_.tune_epochs;
    options.distill = request_.distill;
    options.keep_best = true;
    options.learning_rate = request_.tune_rate.value_or(request_.network ? 0.001 : 0.01);
    return options;
  }

  Model fit(const Model& model, const train::FitOptions& options, std::string_view stage) {
    train::Fit run(model, parts_.train, options, pool_);
    const auto best = writes() ? request_.out / kPreparedFile : std::filesystem::path();
    while (!run.finished()) train::run_epoch(run, best, settings_.progress, stage);
    report_.history = run.state().history;
    report_.notes.insert(report_.notes.end(), run.notes().begin(), run.notes().end());
    return run.result();
  }

  template <class F>
  void timed(const std::string& stage, F work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    report_.seconds.emplace_back(stage,
                                 std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }

  static int64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return int64_t{usage.ru_maxrss} * 1024;  // Linux reports KiB
  }

  const QuickstartRequest& request_;
  const Settings& settings_;
  Model start_;
  data::TrainTest parts_;
  ThreadPool pool_;
  QuickstartReport report_;
};

}  // namespace

void require_free(const QuickstartRequest& request) {
  if (request.out.empty()) return;
  io::require_folder_target(request.out);
  for (const char* file : {kFloatFile, kPreparedFile, kIntegerFile}) {
    if (!request.overwrite && std::filesystem::exists(request.out / file))
      fail(errors::file_not_replaced((request.out / file).string(), "folder"));
  }
}

namespace {

void check_request(const QuickstartRequest& request) { require_in_range(request); }

}  // namespace

QuickstartResult quickstart(const QuickstartRequest& request, const Settings& settings) {
  check_request(request);
  require_free(request);
  return Quickstart(request, settings).run();
}

}  // namespace halfstep::api
