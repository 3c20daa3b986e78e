#include "halfstep/network.h"

#include "halfstep/eager/call.h"
#include "halfstep/formats/import.h"

namespace halfstep {

Model load_network(const std::filesystem::path& path) {
  if (!formats::is_foreign(path)) return load_model(path);
  formats::Binding binding;
  binding.evaluate = eager::call;
  return formats::open(path)->import(binding);
}

}  // namespace halfstep
