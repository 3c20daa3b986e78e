// Wire schemas of ONNX files.
#pragma once

#include "halfstep/formats/builder/protobuf_wire.h"

namespace halfstep::formats::onnx {

enum class WireRoot { model, tensor };

/// Applies formats::short_form to an ONNX file.
std::string short_form(std::span<const std::byte> bytes, WireRoot root, const std::string& name,
                       const WireLimits& limits = {});

/// Whether the bytes start like a model: known fields with their wire types, up to the graph.
bool looks_like_model(std::span<const std::byte> bytes);

}  // namespace halfstep::formats::onnx
