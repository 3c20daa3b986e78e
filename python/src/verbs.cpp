// The verbs of halfstep::api on Networks. Each lets other threads of Python in while it works.
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "halfstep/api/errors.h"
#include "python/src/network.h"

namespace halfstep::python {
namespace {

using Path = std::string;
using Report = nb::tuple;  ///< text, JSON

/// What every verb that computes takes from Python.
struct Work {
  nb::object progress;  ///< called with stage, done, total, note; None for silence
  uint64_t seed = 0;
};

/// Runs a verb without the GIL. Between steps of it signals are handled, and progress is told; what either raises ends
/// the verb and is raised here.
template <class Verb>
auto work(const Work& given, Verb&& verb) {
  std::optional<nb::python_error> raised;
  api::Settings settings;
  settings.threads = eager::threads();
  settings.seed = given.seed;
  settings.progress = [&](const Progress& progress) {
    const nb::gil_scoped_acquire acquire;
    try {
      if (PyErr_CheckSignals() != 0) nb::raise_python_error();
      if (!given.progress.is_none())
        given.progress(std::string(progress.stage), progress.done, progress.total, std::string(progress.note));
    } catch (nb::python_error& error) {
      raised.emplace(std::move(error));
      fail(errors::interrupted("Python"));
    }
  };
  try {
    const nb::gil_scoped_release release;
    return verb(settings);
  } catch (const Error&) {
    if (raised) throw std::move(*raised);
    throw;
  }
}

nb::object network_of(Model model) { return nb::cast(new Network(std::move(model)), nb::rv_policy::take_ownership); }

Network* load(const Path& path, const api::Dataset* data) {
  const nb::gil_scoped_release release;
  return new Network(data == nullptr ? api::load(path) : api::load(path, *data));
}

void save(const Network& network, const Path& path) {
  const nb::gil_scoped_release release;
  api::save(*network.model(), path);
}

api::Dataset* load_data(const Path& path, const Network* network, bool all, int64_t samples, bool skip_bad,
                        const std::string& label) {
  const nb::gil_scoped_release release;
  const int64_t classes = network == nullptr ? io::kMaxClasses : api::classes_of(*network->model());
  return new api::Dataset(api::load_data(path, classes, {all, samples, skip_bad, label}));
}

using Overrides = std::vector<std::pair<std::string, std::string>>;
using Bits =
    std::vector<std::tuple<std::string, std::optional<int>, std::optional<int>>>;  ///< layers, weights, features

train::PreprocessOptions preprocess_of(const std::optional<std::string>& text) {
  return text ? train::parse_preprocess_options(*text, "preprocess") : train::PreprocessOptions();
}

template <class Result>
Report report_of(const Result& result) {
  return nb::make_tuple(report::as_text(result), report::as_json(result));
}

Report inspect(const Network& network, const std::string& platform, const Overrides& overrides,
               std::optional<int> weights, std::optional<int> features, std::optional<int> edges,
               const std::vector<std::string>& in_float, const std::vector<std::string>& also, bool pad_channels,
               bool float_islands, const std::vector<std::string>& regions) {
  return report_of(work({nb::none()}, [&](const api::Settings&) {
    return api::inspect_target(*network.model(), {quant::load_platform(platform, overrides),
                                                  {weights, features, edges, in_float, also},
                                                  pad_channels,
                                                  {float_islands},
                                                  regions});
  }));
}

/// How training sees batch norms and shared weights.
using TrainingForm = std::pair<std::string, std::string>;

void set_training_form(quant::PrepareOptions& options, const TrainingForm& form) {
  options.batch_norms = quant::parse_batch_norms(form.first);
  options.duplicate_weights = quant::parse_shared_weights(form.second);
}

/// What mends a calibrated network: methods, steps of each block that learns, the folder for blocks, whether to go on.
using Repairs = std::tuple<std::vector<std::string>, int64_t, std::string, bool>;

repair::Options repair_of(const Repairs& repairs) {
  repair::Options options;
  std::string folder;
  std::tie(options.methods, options.steps, folder, options.resume) = repairs;
  options.folder = folder;
  return options;
}

/// Samples of a step, steps, and the largest open extent.
using CalibrationOptions = std::tuple<int64_t, int64_t, std::optional<int64_t>>;

nb::tuple quantize(const Network& network, const std::string& platform, const Overrides& overrides,
                   const api::Dataset& data, std::optional<int> weights, std::optional<int> features,
                   std::optional<int> edges, const Bits& bits, const std::vector<std::string>& in_float,
                   const std::vector<std::string>& also, const std::vector<std::string>& regions, bool pad_channels,
                   const TrainingForm& form, const std::optional<std::string>& preprocess,
                   const CalibrationOptions& calibration, int64_t keep_samples, const Repairs& repairs, uint64_t seed,
                   nb::object progress) {
  api::QuantizeOptions options;
  options.repair = repair_of(repairs);
  options.widths = {weights, features, edges, in_float, also};
  set_training_form(options.widths, form);
  options.regions = regions;
  options.pad_channels = pad_channels;
  options.preprocess = preprocess_of(preprocess);
  std::tie(options.calibration_batch, options.calibration_batches, options.max_length) = calibration;
  options.stored_samples = keep_samples;
  for (const auto& [layers, of_weights, of_features] : bits) options.bits.push_back({layers, of_weights, of_features});
  auto result = work({std::move(progress), seed}, [&](const api::Settings& settings) {
    return api::quantize(*network.model(), quant::load_platform(platform, overrides), data, options, settings);
  });
  const Report report = report_of(result);
  return nb::make_tuple(network_of(std::move(result.model)), report[0], report[1]);
}

nb::tuple change_bits(const Network& network, const std::string& selector, std::optional<int> weights,
                      std::optional<int> features) {
  auto result = api::change_bits(*network.model(), {{selector, weights, features}});
  const Report report = report_of(result);
  return nb::make_tuple(network_of(std::move(result.model)), report[0], report[1]);
}

/// What a schedule does with a float network, as the arguments of `quantize` say.
api::BitsSchedule schedule_of(const std::vector<std::string>& stages, const std::optional<std::string>& platform,
                              const Overrides& overrides, std::optional<int> edges,
                              const std::vector<std::string>& in_float, const std::vector<std::string>& also,
                              const std::vector<std::string>& regions, bool pad_channels, const TrainingForm& form) {
  api::BitsSchedule schedule;
  for (const std::string& stage : stages) schedule.stages.push_back(api::parse_stage_bits(stage));
  if (platform) schedule.platform = quant::load_platform(*platform, overrides);
  schedule.quantize.widths = {{}, {}, edges, in_float, also};
  set_training_form(schedule.quantize.widths, form);
  schedule.quantize.regions = regions;
  schedule.quantize.pad_channels = pad_channels;
  return schedule;
}

Report train_network(Network& network, const api::Dataset& data, int64_t epochs, int64_t batch,
                     std::optional<double> learning_rate, double ema, double weight_decay,
                     const api::BitsSchedule& schedule, bool flip, int64_t shift, bool distill,
                     const std::vector<const Network*>& teachers, const train::Recipe& recipe, int64_t max_iterations,
                     const Path& folder, bool resume, bool overwrite, const std::optional<std::string>& preprocess,
                     uint64_t seed, nb::object progress) {
  api::TrainOptions options;
  options.average_decay = ema;
  options.weight_decay = weight_decay;
  options.schedule = schedule;
  options.epochs = epochs;
  options.batch = batch;
  options.learning_rate = learning_rate;
  options.augment = {flip, shift};
  options.distill = distill;
  for (const Network* teacher : teachers) options.teachers.push_back(*teacher->model());
  options.recipe = recipe;
  options.max_iterations = max_iterations;
  options.folder = folder;
  options.resume = resume;
  options.overwrite = overwrite;
  options.preprocess = preprocess_of(preprocess);
  api::Trained result;
  network.replace([&](const Model& model) {
    result = work({std::move(progress), seed},
                  [&](const api::Settings& settings) { return api::train(model, data, options, settings); });
    return result.model;
  });
  return report_of(result);
}

nb::tuple convert(const Network& network, bool float_islands) {
  quant::ConvertOptions options;
  options.float_islands = float_islands;
  auto result = work({nb::none()}, [&](const api::Settings&) { return api::convert(*network.model(), options); });
  const Report report = report_of(result);
  return nb::make_tuple(network_of(std::move(result.model)), report[0], report[1]);
}

/// Compiler, runner, folder and seconds.
using CRoad = std::tuple<std::string, std::string, Path, double>;

nb::tuple verify(const Network& prepared, const Network& integer, const api::Dataset& data, const std::string& with,
                 const Path& exported, bool variants, const CRoad& c, bool all_meaning, std::optional<int64_t> batch,
                 const std::optional<std::string>& preprocess, uint64_t seed, nb::object progress) {
  api::VerifyOptions options;
  options.batch = batch;
  options.preprocess = preprocess_of(preprocess);
  options.with = with;
  options.exported = exported;
  options.variants = variants;
  options.c = {std::get<0>(c), std::get<1>(c), std::get<2>(c), std::get<3>(c)};
  options.all_meaning = all_meaning;
  const auto result = work({std::move(progress), seed}, [&](const api::Settings& settings) {
    return api::verify(*prepared.model(), *integer.model(), data, options, settings);
  });
  const Report report = report_of(result);
  return nb::make_tuple(result.equal(), report[0], report[1]);
}

nb::tuple evaluate(const Network& network, const api::Dataset& data, const std::optional<std::string>& preprocess,
                   int64_t top) {
  const auto result = work({nb::none()}, [&](const api::Settings& settings) {
    return api::evaluate(*network.model(), data, {preprocess_of(preprocess), top}, settings);
  });
  return nb::make_tuple(result.accuracy, result.samples, result.top, result.tested, result.notes, result.loss);
}

/// How many samples, which part, directions, whether other observers are tried.
using AnalysisWords = std::tuple<int64_t, std::string, int64_t, bool, int64_t>;

Report analyze(const Network& network, const api::Dataset& data, const AnalysisWords& words,
               const std::optional<std::string>& platform, const Overrides& overrides, std::optional<int> weights,
               std::optional<int> features, std::optional<int> edges, const std::optional<std::string>& preprocess,
               uint64_t seed, nb::object progress) {
  api::AnalyzeOptions options;
  const auto& [samples, part, directions, observers, tries] = words;
  options.how.samples = samples;
  options.how.directions = directions;
  options.how.observers = observers;
  options.tries = tries;
  if (part != "test" && part != "train") fail(errors::not_a_choice("part", part, "test or train"));
  options.on_training = part == "train";
  if (platform) options.platform = quant::load_platform(*platform, overrides);
  options.quantize.widths = {weights, features, edges};
  options.quantize.preprocess = preprocess_of(preprocess);
  return report_of(work({std::move(progress), seed}, [&](const api::Settings& settings) {
    return api::analyze(*network.model(), data, options, settings);
  }));
}

/// Budget, table, how many samples, points of the front, whether the ends' widths are chosen too.
using BitsWords = std::tuple<std::string, Path, int64_t, int64_t, bool>;

/// Repairs, epochs, samples of a step, the learning rate, whether it is converted and verified, whether with islands.
using FollowUp = std::tuple<Repairs, int64_t, int64_t, std::optional<double>, bool, bool>;

nb::tuple bits(const Network& network, const api::Dataset& data, const BitsWords& words, const FollowUp& then,
               const std::optional<std::string>& platform, const Overrides& overrides, std::optional<int> weights,
               std::optional<int> features, std::optional<int> edges, const std::optional<std::string>& preprocess,
               uint64_t seed, nb::object progress) {
  api::BitsOptions options;
  options.how.budgets = bits::parse_budgets(std::get<0>(words));
  std::tie(std::ignore, options.how.table, options.how.samples, options.how.front, options.how.with_edges) = words;
  options.quantize.repair = repair_of(std::get<0>(then));
  std::tie(std::ignore, options.train.epochs, options.train.batch, options.train.learning_rate, options.prove,
           options.convert.float_islands) = then;
  if (platform) options.platform = quant::load_platform(*platform, overrides);
  options.quantize.widths = {weights, features, edges};
  options.quantize.preprocess = preprocess_of(preprocess);
  auto result = work({std::move(progress), seed}, [&](const api::Settings& settings) {
    return api::bits(*network.model(), data, options, settings);
  });
  const Report report = report_of(result);
  return nb::make_tuple(network_of(std::move(result.result.model)), report[0], report[1]);
}

Report inspect_data(const api::Dataset& data, bool measured, nb::object progress) {
  return report_of(work({std::move(progress)}, [&](const api::Settings& settings) {
    return measured ? api::inspect_data(data, settings) : api::describe_data(data);
  }));
}

void write_contact_sheet(const api::Dataset& data, const Path& path) {
  const nb::gil_scoped_release release;
  api::write_contact_sheet(data, path);
}

std::vector<std::string> export_deploy(const Network& network, const Path& folder, bool overwrite) {
  return work({nb::none()},
              [&](const api::Settings&) { return api::export_deploy(*network.model(), folder, overwrite); });
}

/// The files, memory between layers, flash, and the layers in float.
nb::tuple export_c(const Network& network, const Path& folder, const std::string& name, bool test_program,
                   const api::Dataset* data, bool hooks, bool float_islands, bool overwrite) {
  const api::ExportCOptions options{name, test_program, hooks, float_islands, overwrite};
  const auto result =
      work({nb::none()}, [&](const api::Settings&) { return api::export_c(*network.model(), folder, options, data); });
  return nb::make_tuple(result.files, result.arena_bytes, result.constant_bytes, result.islands);
}

nb::tuple export_network(const Network& network, const Path& path, const std::string& format, int64_t opset,
                         bool approximate) {
  const auto result = work({nb::none()}, [&](const api::Settings&) {
    return api::export_onnx(*network.model(), path, {format, opset, approximate});
  });
  return nb::make_tuple(result.nodes, result.approximated);
}

/// layers, order, packing, offset, border, format, reals, parameters, with.
using DumpWords =
    std::tuple<std::vector<std::string>, std::optional<std::string>, std::optional<std::string>, std::optional<bool>,
               std::optional<std::vector<int64_t>>, std::string, bool, bool, std::string>;

api::DumpOptions dump_options(const DumpWords& words, const std::optional<std::string>& preprocess) {
  api::DumpOptions options;
  std::tie(options.layers, options.layout.order, options.layout.packing, options.layout.offset, options.layout.border,
           options.format, options.reals, options.parameters, options.with) = words;
  options.preprocess = preprocess_of(preprocess);
  return options;
}

Report dump(const Network& network, const api::Dataset& data, const Path& out, const DumpWords& words, bool overwrite,
            const std::optional<std::string>& preprocess, nb::object progress) {
  return report_of(work({std::move(progress)}, [&](const api::Settings& settings) {
    return api::dump(*network.model(), data, out, dump_options(words, preprocess), overwrite, settings);
  }));
}

/// Whether the two are equal, and the report as text, JSON and a page.
nb::tuple compare(const Network* network, const Path& first, const Path& second, const api::Dataset* data,
                  const std::string& like, std::pair<double, double> tolerance,
                  const std::optional<std::string>& preprocess, nb::object progress) {
  const auto comparison = work({std::move(progress)}, [&](const api::Settings& settings) {
    api::CompareOptions options{.like = like, .tolerance = {tolerance.first, tolerance.second}};
    options.dump.preprocess = preprocess_of(preprocess);
    return network == nullptr ? api::compare(first, second, data, options, settings)
                              : api::compare(*network->model(), second, *data, options, settings);
  });
  return nb::make_tuple(comparison.equal(), report::as_text(comparison), report::as_json(comparison),
                        report::as_html(comparison));
}

}  // namespace

void define_verbs(nb::module_& module) {
  using nb::arg;
  module.def("load", &load, arg("path"), arg("data").none(), nb::rv_policy::take_ownership);
  module.def("save", &save);
  module.def("load_data", &load_data, arg("path"), arg("network").none(), arg("all"), arg("samples"), arg("skip_bad"),
             arg("label"), nb::rv_policy::take_ownership);
  module.def("inspect_data", &inspect_data, arg("data"), arg("measured"), arg("progress").none());
  module.def("write_contact_sheet", &write_contact_sheet, arg("data"), arg("path"));
  module.def("platforms", &quant::platform_names);
  module.def("inspect", &inspect, arg("network"), arg("platform"), arg("overrides"), arg("weights").none(),
             arg("features").none(), arg("edges").none(), arg("in_float"), arg("also"), arg("pad_channels"),
             arg("float_islands"), arg("regions"));
  module.def("quantize", &quantize, arg("network"), arg("platform"), arg("overrides"), arg("data"),
             arg("weights").none(), arg("features").none(), arg("edges").none(), arg("bits"), arg("in_float"),
             arg("also"), arg("regions"), arg("pad_channels"), arg("form"), arg("preprocess").none(),
             arg("calibration"), arg("keep_samples"), arg("repair"), arg("seed"), arg("progress").none());
  module.def("change_bits", &change_bits, arg("network"), arg("selector"), arg("weights").none(),
             arg("features").none());
  nb::class_<api::BitsSchedule>(module, "BitsSchedule");
  module.def("bits_schedule", &schedule_of, arg("stages"), arg("platform").none(), arg("overrides"),
             arg("edges").none(), arg("in_float"), arg("also"), arg("regions"), arg("pad_channels"), arg("form"));
  nb::class_<train::Recipe>(module, "Recipe");
  module.def(
      "recipe",
      [](const std::string& schedule, double label_smoothing, double mixup, double scale_rate, double freeze_above,
         const std::vector<std::string>& features, double teacher_weight, int64_t renormalize) {
        return train::Recipe{train::parse_rate_schedule(schedule),
                             label_smoothing,
                             mixup,
                             scale_rate,
                             freeze_above,
                             features,
                             teacher_weight,
                             renormalize};
      },
      arg("schedule"), arg("label_smoothing"), arg("mixup"), arg("scale_rate"), arg("freeze_above"), arg("features"),
      arg("teacher_weight"), arg("renormalize"));
  module.def("train", &train_network, arg("network"), arg("data"), arg("epochs"), arg("batch"),
             arg("learning_rate").none(), arg("ema"), arg("weight_decay"), arg("schedule"), arg("flip"), arg("shift"),
             arg("distill"), arg("teachers"), arg("recipe"), arg("max_iterations"), arg("folder"), arg("resume"),
             arg("overwrite"), arg("preprocess").none(), arg("seed"), arg("progress").none());
  module.def("convert", &convert);
  module.def("verify", &verify, arg("prepared"), arg("integer"), arg("data"), arg("with"), arg("exported"),
             arg("variants"), arg("c"), arg("all_meaning"), arg("batch").none(), arg("preprocess").none(), arg("seed"),
             arg("progress").none());
  module.def("dump", &dump, arg("network"), arg("data"), arg("out"), arg("words"), arg("overwrite"),
             arg("preprocess").none(), arg("progress").none());
  module.def("compare", &compare, arg("network").none(), arg("first"), arg("second"), arg("data").none(), arg("like"),
             arg("tolerance"), arg("preprocess").none(), arg("progress").none());
  module.def("evaluate", &evaluate, arg("network"), arg("data"), arg("preprocess").none(), arg("top"));
  module.def("analyze", &analyze, arg("network"), arg("data"), arg("words"), arg("platform").none(), arg("overrides"),
             arg("weights").none(), arg("features").none(), arg("edges").none(), arg("preprocess").none(), arg("seed"),
             arg("progress").none());
  module.def("bits", &bits, arg("network"), arg("data"), arg("words"), arg("then"), arg("platform").none(),
             arg("overrides"), arg("weights").none(), arg("features").none(), arg("edges").none(),
             arg("preprocess").none(), arg("seed"), arg("progress").none());
  module.def("export", &export_network);
  module.def("export_deploy", &export_deploy, arg("network"), arg("folder"), arg("overwrite"));
  module.def("export_c", &export_c, arg("network"), arg("folder"), arg("name"), arg("test_program"), arg("data").none(),
             arg("hooks"), arg("float_islands"), arg("overwrite"));
}

}  // namespace halfstep::python
