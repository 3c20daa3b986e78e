// Fields of Metadata and its parts with their JSON keys: the only list of them. Each function calls `archive` with key
// and value of each field. json_archive.h has the archives.
#pragma once

#include <concepts>

#include "halfstep/core/ir/metadata/metadata.h"

namespace halfstep {

/// Value is T or const T.
template <class Value, class T>
concept Is = std::same_as<std::remove_const_t<Value>, T>;

void fields(auto& archive, Is<PreprocessRecord> auto& record) {
  archive("size", record.size);
  archive("resize", record.resize);
  archive("crop", record.crop);
  archive("ignore_orientation", record.ignores_orientation);
  archive("scale", record.scale);
  archive("mean", record.mean);
  archive("std", record.deviation);
  archive("reverse_channels", record.reverses_channels);
  archive("channels_last", record.channels_last);
}

void fields(auto& archive, Is<Normalization> auto& norm) {
  archive("layer", norm.layer);
  archive("weight", norm.weight);
  archive("bias", norm.bias);
  archive("raw_weight", norm.raw_weight);
  archive("raw_bias", norm.raw_bias);
  archive("scale", norm.scale);
  archive("shift", norm.shift);
  archive("mean", norm.mean);
  archive("variance", norm.variance);
  archive("epsilon", norm.epsilon);
  archive("momentum", norm.momentum);
  archive("live", norm.live);
}

void fields(auto& archive, Is<LearnedQuantizer> auto& quantizer) {
  archive("kind", quantizer.kind);
  archive("scale", quantizer.scale);
  archive("zero_point", quantizer.zero_point);
  archive("offset", quantizer.offset);
  archive("low", quantizer.low);
  archive("high", quantizer.high);
  archive("log2_scale", quantizer.log2_scale);
  archive("weight", quantizer.weight);
  archive("raw", quantizer.raw);
  archive("choice", quantizer.choice);
  archive("number", quantizer.number);
  archive("name", quantizer.name);
  archive("networks", quantizer.networks);
  archive("tensors", quantizer.tensors);
  archive("declares_scale", quantizer.declares_scale);
}

void fields(auto& archive, Is<ValueCodes> auto& codes) {
  archive("scale", codes.scale);
  archive("zero_point", codes.zero_point);
  archive("code_min", codes.code_min);
  archive("code_max", codes.code_max);
}

void fields(auto& archive, Is<TableOrigin> auto& origin) {
  archive("function", origin.function);
  archive("alpha", origin.alpha);
  archive("x_scale", origin.x_scale);
  archive("x_zero_point", origin.x_zero_point);
  archive("y_scale", origin.y_scale);
  archive("y_zero_point", origin.y_zero_point);
}

void fields(auto& archive, Is<ValidationResult> auto& validation_result) {
  archive("right", validation_result.right);
  archive("loss", validation_result.loss);
}

void fields(auto& archive, Is<HistoryRecord> auto& history) {
  archive("samples", history.samples);
  archive("has_labels", history.has_labels);
  archive("results", history.validation_results, "standings");
  archive("best_epoch", history.best);
  archive("teacher", history.teacher);
}

void fields(auto& archive, Is<TrainingRun> auto& run) {
  archive("epoch", run.epoch);
  archive("network", run.network);
  archive("start", run.start);
  archive("data_name", run.data_name);
  archive("data_digest", run.data_digest);
  archive("settings", run.settings);
  archive("history", run.history, "course");
  archive("live", run.live);
  archive("average", run.average);
  archive("best", run.best);
}

void fields(auto& archive, Is<Metadata> auto& metadata) {
  archive("stage", metadata.stage);
  archive("platform", metadata.platform);
  archive("preprocess", metadata.preprocess);
  archive("given_names", metadata.given_names);
  archive("quantizers_as_arithmetic", metadata.quantizers_as_arithmetic);
  archive("closed_extents", metadata.closed_extents);
  archive("float_operators", metadata.float_operators);
  archive("quantizer_reasons", metadata.quantizer_reasons);
  archive("deviations", metadata.deviations);
  archive("first_last_scales", metadata.first_last_scales, "edge_scales");
  archive("normalizations", metadata.normalizations);
  archive("learned_quantizers", metadata.learned_quantizers);
  archive("calibrated_lengths", metadata.calibrated_lengths);
  archive("code_formats", metadata.code_formats);
  archive("tables", metadata.tables);
  archive("training_run", metadata.training_run);
  archive("repair_run", metadata.repair_run);
  archive("notes", metadata.notes);
}

}  // namespace halfstep
