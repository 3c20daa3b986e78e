// Description of a data set.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halfstep/api/settings.h"

namespace halfstep::api {

/// Description of a data set by `inspect_data` or `describe_data`.
struct DataReport {
  std::string name, form;  ///< "photos", "image folder"
  int64_t samples = 0;
  std::vector<std::pair<std::string, int64_t>> classes = {};  ///< class names with sample counts; empty without labels
  int64_t train = 0, val = 0, test = 0;  ///< samples per split; without labels train and test share all samples
  std::string tested = {};               ///< source of the test split: "val/"
  std::vector<std::pair<std::string, Type>> inputs = {};    ///< further named inputs, described by their types only
  std::vector<std::pair<std::string, Type>> targets = {};   ///< targets of losses
  Dims sample = {};                                         ///< [c, h, w] or [columns]; kUnknown if sizes differ
  std::vector<std::pair<std::string, int64_t>> sizes = {};  ///< counts by picture size, such as "640 x 480", most
                                                            ///< frequent first
  bool raw = true;                                          ///< false if no preprocessing applies to the values
  int64_t measured = 0;                                     ///< number of samples for the statistics below
  double least = 0, most = 0;
  std::vector<double> mean = {}, deviation = {};  ///< statistics of unprocessed values, by channel
  std::vector<std::string> skipped = {};          ///< skipped images, each with the reason
};

/// Reads every sample of all splits of `data` once, on all threads. Throws for a damaged sample.
DataReport inspect_data(const Dataset& data, const Settings& settings = {});

/// Describes `data` without reading samples: the measured members keep their defaults.
DataReport describe_data(const Dataset& data);

}  // namespace halfstep::api
