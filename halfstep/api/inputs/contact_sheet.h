// Pictures of a data set on one sheet, to look at.
#pragma once

#include <filesystem>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// Whether samples are pictures of one or three channels.
bool shows_pictures(const Dataset& data);

/// u8 [height, width, 3] of a sample of the data set, its long side 96 pixels. Throws where samples are no pictures.
Tensor fitted_picture(const Dataset& data, int64_t index);

/// u8 [height, width, 3]: up to 96 pictures, evenly spread over the data set, in rows of 12 on grey, each as it is read
/// and made to fit into a square. Values of f32 go from their least (black) to their largest (white). Throws for
/// samples that are no pictures of one or three channels.
Tensor contact_sheet(const Dataset& data);

/// The sheet as a PNG file.
void write_contact_sheet(const Dataset& data, const std::filesystem::path& path);

}  // namespace halfstep::api
