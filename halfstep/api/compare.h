// Layer-by-layer comparison of two sets of values: the first difference and its likely cause.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/dump.h"
#include "halfstep/api/options.h"
#include "halfstep/verify/board/compare.h"

namespace halfstep::api {

/// Compares two paths. A side is a folder of dumps, a folder of bare files named after values, a bare file, arrays of
/// another framework (npz, safetensors), or a Model. Arrays and bare files are interpreted as the entries of the other
/// side with the same names. `data` has the samples for sides that are Models, and may be absent without such a side.
/// Throws one bad_input Error with the problems of both sides: a path that does not exist, a Model without `data`, and
/// missing, truncated, empty or unknown entries. Throws too if the sides have no value in common.
board::Comparison compare(const std::filesystem::path& first, const std::filesystem::path& second,
                          const std::optional<Dataset>& data = {}, const CompareOptions& options = {},
                          const Settings& settings = {});

/// Compares the values of `first`, of any stage, on the test split of `data` with the side at `second`. Throws for
/// samples that do not match `first`, one Error with all problems of the second side, and if the sides have no value in
/// common.
board::Comparison compare(const Model& first, const std::filesystem::path& second, const Dataset& data,
                          const CompareOptions& options = {}, const Settings& settings = {});

/// Whether the path is a Halfstep Model or an ONNX or Paddle file, so that a comparison needs samples. False for a path
/// that does not exist.
bool is_network(const std::filesystem::path& path);

}  // namespace halfstep::api
