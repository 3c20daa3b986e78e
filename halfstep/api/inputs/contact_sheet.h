// Overview image of the pictures of a data set.
#pragma once

#include <filesystem>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// Whether samples are pictures with one or three channels.
bool shows_pictures(const Dataset& data);

/// Returns a sample as u8 [height, width, 3], with a long side of 96 pixels. Throws if samples are not pictures.
Tensor fitted_picture(const Dataset& data, int64_t index);

/// Returns u8 [height, width, 3] with up to 96 pictures, evenly spread over the data set, in rows of 12 on grey. Each
/// picture is scaled to fit a square. f32 values are mapped from their minimum (black) to their maximum (white). Throws
/// for samples that are not pictures with one or three channels.
Tensor contact_sheet(const Dataset& data);

/// Writes the sheet as a PNG file.
void write_contact_sheet(const Dataset& data, const std::filesystem::path& path);

}  // namespace halfstep::api
