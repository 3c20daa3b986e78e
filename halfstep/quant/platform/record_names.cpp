#include "halfstep/quant/platform/record_names.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/quant/platform/errors.h"

namespace halfstep::quant {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> operators_that(bool (*takes)(const OpInfo& op)) {
  std::vector<std::string> names;
  for (const OpInfo& op : all_operators()) {
    if (takes(op)) names.push_back(op.name);
  }
  return names;
}

std::string read_name(const YamlReader& reader, const std::string& key, const std::vector<std::string>& able) {
  std::string name = reader.text(key);
  if (!contains(able, name))
    reader.object(key, errors::record_name_unsuitable(name, reader.key_of(key).legal.such, did_you_mean(name, able)));
  return name;
}

std::vector<std::string> read_names(const YamlReader& reader, const std::string& key,
                                    const std::vector<std::string>& able, const std::string& such,
                                    std::initializer_list<std::string> depends_on) {
  std::vector<std::string> names = reader.texts(key);
  for (const std::string& name : names) {
    const std::string expected = such.empty() ? reader.key_of(key).legal.such : such;
    if (!contains(able, name))
      reader.object(key, errors::record_name_unsuitable(name, expected, did_you_mean(name, able)), depends_on);
  }
  return names;
}

}  // namespace halfstep::quant
