// Version of the JSON that the verbs print.
#pragma once

namespace halfstep::report {

/// First key of all JSON objects. Incremented for every change that breaks an existing reader.
inline constexpr int kSchema = 2;

}  // namespace halfstep::report
