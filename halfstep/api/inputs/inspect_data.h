// What was understood of a data set.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halfstep/api/settings.h"

namespace halfstep::api {

struct DataReport {
  std::string name, form;  ///< "photos", "image folder"
  int64_t samples = 0;
  std::vector<std::pair<std::string, int64_t>> classes = {};  ///< and how many samples of each; empty without labels
  int64_t train = 0, val = 0, test = 0;                       ///< of each part; without labels train and test share all
  std::string tested = {};                                    ///< what the test part is: "val/"
  std::vector<std::pair<std::string, Type>> inputs = {};      ///< named inputs, of which nothing further is said
  Dims sample = {};                                           ///< [c, h, w] or [columns]; kUnknown where sizes differ
  std::vector<std::pair<std::string, int64_t>> sizes = {};    ///< of pictures, "640 x 480", the most frequent first
  bool raw = true;                                            ///< whether preprocessing is for the values
  int64_t measured = 0;                                       ///< samples that what follows is of
  double least = 0, most = 0;
  std::vector<double> mean = {}, deviation = {};  ///< of values as they are, by channel
  std::vector<std::string> skipped = {};          ///< images that were left out, each with the reason
};

/// Reads every sample that the parts of `data` have, once, on all threads; throws where one is damaged.
DataReport inspect_data(const Dataset& data, const Settings& settings = {});

/// The same without reading any: nothing is measured.
DataReport describe_data(const Dataset& data);

}  // namespace halfstep::api
