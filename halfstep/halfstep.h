// Halfstep's C++ face: one function for each verb, and eager::call for one operator. The command line and Python call
// nothing else.
//
// Every function throws halfstep::Error; its kind says what an exit code should be. Nothing is printed. Files are whole
// or not there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/base/log.h"
#include "halfstep/eager/call.h"
#include "halfstep/ir/model.h"
#include "halfstep/quant/convert.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/train/augment.h"
#include "halfstep/train/preprocess.h"
#include "halfstep/train/standing.h"
#include "halfstep/train/step_times.h"
#include "halfstep/verify/golden.h"
#include "halfstep/verify/roads.h"
#include "halfstep/verify/runner.h"

namespace halfstep {

/// What every verb takes.
struct Settings {
  int threads = 0;  ///< 0: one per processor
  uint64_t seed = 0;
  ProgressCallback progress;
};

/// Dotted keys of a platform record with their new values.
using PlatformOverrides = std::vector<std::pair<std::string, std::string>>;

/// A platform and the widths asked of it.
struct Target {
  std::string platform = "generic_int8";  ///< built-in name or path
  PlatformOverrides overrides;
  std::optional<int> weight_bits, feature_bits, edge_bits;
};

// ---- train

struct TrainRequest {
  std::string data;                ///< path; "" is the embedded digits
  std::string network = "digits";  ///< built-in name or .ir path, used when `model` is empty
  /// A float or prepared Model to go on from. A prepared one learns from its own float form where data has no labels. A
  /// part of the samples is held back, and the result is the best state on them, which may be the Model as it was.
  std::filesystem::path model;
  int64_t epochs = 20;
  int64_t batch = 32;
  std::optional<double> learning_rate;  ///< without one: 0.05 for float networks, 0.001 for prepared ones
  train::Augment augment;               ///< of images, in training alone
  bool distill = false;                 ///< a prepared network learns from its float form, though data has labels
  std::filesystem::path out;
  bool resume = false;
  bool profile = false;  ///< the report says which operators take the time
};
struct TrainReport {
  std::string digest;              ///< of the trained weights
  std::optional<double> accuracy;  ///< with labels
  double loss = 0;
  int64_t samples = 0, first_epoch = 0, epochs = 0;
  bool was_finished = false;
  double step_milliseconds = 0;                ///< median, without the preparation of samples; 0 when none was run
  std::vector<train::OperatorTime> operators;  ///< the longest first, with `profile`
  train::Course held_back;                     ///< how `model` did, epoch by epoch; empty for a fresh network
};
TrainReport train_model(const TrainRequest& request, const Settings& settings);

// ---- eval

struct EvaluateRequest {
  std::filesystem::path model;  ///< a Model of any stage or a foreign file
  std::string data;
  std::optional<train::Preprocess> preprocess;  ///< of raw values; without one the Model's own
};
struct EvaluateReport {
  std::string stage;  ///< float, prepared, integer
  double accuracy = 0;
  int64_t samples = 0;
};
EvaluateReport evaluate_model(const EvaluateRequest& request, const Settings& settings);

// ---- run

struct RunRequest {
  std::filesystem::path model;  ///< a Model of any stage, or a foreign file (ONNX, Paddle)
  std::filesystem::path inputs, outputs,
      expect;  ///< outputs and expect may be empty; tensors by name, safetensors or npz
  /// Instead of them, for an ONNX file: a folder in ONNX's test layout. The tolerance of its tolerance.json, or else
  /// `relative` and `absolute`, holds for floats; everything else must be equal.
  std::filesystem::path test_data;
  double relative = 1e-3, absolute = 1e-7;
  bool exact = false;
  std::string place = "cpu";  ///< cpu or sim
  int64_t repeat = 0;         ///< runs that are timed, after the one that gives the outputs
};
struct RunComparison {
  std::string tensor;  ///< of test data with the name of its set before it: "test_data_set_0/y"
  int64_t elements = 0, differing = 0;
  double largest_difference = 0;
  Dims first_position;  ///< of the first differing element; empty when none differs
  double first_found = 0, first_expected = 0;
};
struct RunReport {
  std::map<std::string, Tensor> outputs;   ///< of test data the last set's
  std::vector<RunComparison> comparisons;  ///< one for each tensor of `expect`
  std::vector<double> milliseconds;        ///< of each repeated run, of test data with its last set
  bool equal() const;
};
RunReport run_model(const RunRequest& request, const Settings& settings);

// ---- quantize, convert

/// Widths for the layers that match `selector`.
struct LayerBits {
  std::string selector;  ///< `*` and `?` as in file names
  std::optional<int> weights, features;
};

struct QuantizeRequest {
  /// A float Model or a foreign file; or a prepared Model whose widths `bits` changes.
  std::filesystem::path model, out;
  Target target;
  std::string calibrate;  ///< data
  /// From raw values (images, csv) to what the network takes; it travels with the Model. Without one the Model's own.
  std::optional<train::Preprocess> preprocess;
  std::vector<LayerBits> bits;  ///< applied in order, after calibration
  int64_t keep_samples = 8;     ///< so many of the samples travel with the Model, for `verify`; 0: none
};
struct QuantizeReport {
  std::vector<quant::AuditRow> audit;
  std::vector<quant::FloatIsland> islands;  ///< operators that stay in float: conversion must be told to keep them
  std::string platform;                     ///< the resolved record
  std::string preprocess;                   ///< what is done to raw values, as JSON
  int64_t samples = 0;
};
QuantizeReport quantize_model(const QuantizeRequest& request, const Settings& settings);

struct ConvertRequest {
  std::filesystem::path model, out;
  quant::ConvertOptions options;
};
struct ConvertReport {
  std::vector<quant::AccumulatorProof> proofs;
  std::vector<quant::FloatIsland> islands;
};
ConvertReport convert_model(const ConvertRequest& request);

// ---- export

struct ExportRequest {
  std::filesystem::path model, out;  ///< `out` is an ONNX file
  std::string format = "float";      ///< float, qdq, qoperator
  int64_t opset = 21;                ///< 13 to 25
  bool approximate = false;          ///< instead of refusing what the form has no arithmetic for
};
struct ExportReport {
  int64_t nodes = 0;
  std::vector<std::string> approximated;  ///< layers whose codes may differ from the Model's
};
/// A float network (a Model or a foreign file) or a prepared Model as a float ONNX file, a prepared or integer one as
/// one on codes.
ExportReport export_model(const ExportRequest& request);

// ---- verify

struct VerifyRequest {
  std::filesystem::path prepared, integer;
  std::string data;
  std::string
      inject;  ///< LAYER:INDEX of a weight code whose top bit is flipped in the integer program first; may be empty
  std::string with;  ///< "onnxruntime": a third road, that engine on the integer program as it was before; may be empty
  std::filesystem::path exported;  ///< the engine runs this ONNX file, exported from the integer program; may be empty
  bool variants = false;           ///< also other forms of the file and the engine's optimizations; never a failure
  bool all_meaning = false;        ///< layers against the float operators in every element of every sample
};
verify::RoadReport verify_models(const VerifyRequest& request, const Settings& settings);

/// The three forms that are compared. The network that came in is one of them where `prepared` has it.
verify::Roads roads_of(const Model& prepared, const Model& integer);

// ---- inspect

struct InspectRequest {
  std::filesystem::path model;  ///< a Model, an .ir text or a foreign file
  bool explain = false;         ///< kernels chosen, and why others refused
  bool nodes = false;           ///< of a foreign file also every node, with the names of its values
  int64_t batch = 1;            ///< stands for unknown leading extents
  std::string place = "cpu";
};
struct InspectReport {
  std::string text;  ///< network, instructions, values, dependencies, memory plan; of a foreign file what it has, and
                     ///< what of it is not supported
  std::string json;  ///< the same for programs
};
InspectReport inspect_model(const InspectRequest& request);

// ---- op

struct OpRequest {
  std::vector<std::string> problems;  ///< lines such as "relu x=f32[2,3]"; without any the cases of the records
  std::string operators = "*";        ///< which records: a pattern of names
  std::string mode = "check";         ///< check, bitwise, grad, reject, speed, or all but speed
  std::string device = "cpu";         ///< of check and speed: cpu, sim, cuda, cuda:N
};
verify::OpReport run_operators(const OpRequest& request, const Settings& settings);

struct GoldenRequest {
  std::filesystem::path file;   ///< results of the original operators: FILE.json beside FILE.safetensors
  std::string operators = "*";  ///< of the original operators: a pattern of names
};
verify::GoldenReport run_golden(const GoldenRequest& request, const Settings& settings);

// ---- fuzz

struct FuzzRequest {
  uint64_t first = 0, last = 1000;  ///< seeds [first, last)
  std::string platform;             ///< a built-in name or path instead of random platforms
  std::string check;                ///< this check alone; "" for all that are due
  std::filesystem::path out;        ///< a folder for what fails, made where it is not there; "" leaves it unwritten
  double seconds = 0;               ///< no new network after so many; 0: until the last seed
  double seconds_each = 60;         ///< a network that takes longer is a finding
  bool stop_at_first = false;
};
struct FuzzFinding {
  uint64_t seed = 0;
  std::string check, what;
  std::string target;           ///< platform and options, as the command line has them
  std::filesystem::path files;  ///< the shrunk network, without its ending; "" where there is no folder
  int64_t nodes = 0;            ///< of the shrunk network
};
struct FuzzReport {
  int64_t graphs = 0, plain = 0;
  int64_t converted = 0, without_islands = 0;  ///< graphs with an integer program; those on codes alone
  std::map<std::string, int64_t> operators;    ///< graphs with each importable operator
  std::map<std::string, int64_t> on_codes;     ///< the same of those that platforms have on codes
  std::map<std::string, std::map<std::string, int64_t>> outcomes;  ///< by check: fine, refused, skipped, found
  std::map<std::string, int64_t> islands;                          ///< graphs by operators of ours that stayed in float
  std::map<std::string, int64_t> refusals;                         ///< by message, without names and numbers
  std::map<std::string, int64_t> skips;                            ///< by reason
  std::vector<FuzzFinding> findings;
  double seconds = 0;
};
/// Makes a random network for each seed and holds every check against it, in processes of their own
/// (`Settings::threads` of them); a seed means the same network on every machine. Call it before this process starts
/// threads: it forks.
FuzzReport run_fuzz(const FuzzRequest& request, const Settings& settings);

// ---- quickstart

struct QuickstartRequest {
  std::string data;
  std::filesystem::path model;  ///< a float Model or a foreign file, which is then not trained; "": a fresh network
  std::optional<train::Preprocess> preprocess;  ///< of raw values, for `model`; without one the Model's own
  Target target;
  std::filesystem::path out = "quickstart_out";
  int64_t float_epochs = 30, tune_epochs = 12;
  int64_t batch = 32;
  std::optional<double>
      tune_rate;           ///< peak of fine-tuning; without one 0.001 for a given network, 0.01 for a fresh one
  train::Augment augment;  ///< of images, in training alone
  bool distill = false;    ///< fine-tuning learns from the float form, though data has labels
  quant::ConvertOptions convert;
  int64_t keep_samples = 8;  ///< so many training samples travel with the prepared Model, for `verify`; 0: none
};
struct QuickstartReport {
  std::string platform, data, weights_digest;
  bool has_accuracy = true;  ///< false for data without labels
  train::Course held_back;   ///< how fine-tuning went; empty without it
  double accuracy_float = 0, accuracy_calibrated = 0, accuracy_finetuned = 0, accuracy_integer = 0;
  int64_t samples = 0, peak_rss_bytes = 0, float_bytes = 0, integer_bytes = 0;
  std::vector<std::pair<std::string, double>> seconds;  ///< by stage, in order
  verify::RoadReport roads;
  std::vector<quant::AuditRow> audit;
};
/// Trains a float network or takes a given one, prepares, calibrates, fine-tunes, converts and verifies it; writes
/// float, prepared and integer Models and report.json.
QuickstartReport quickstart(const QuickstartRequest& request, const Settings& settings);

/// report.json of a quickstart folder. An infinite sqnr_db is written as 200.
std::string report_json(const QuickstartReport& report);

}  // namespace halfstep
