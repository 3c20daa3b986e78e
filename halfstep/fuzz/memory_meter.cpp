#include "halfstep/fuzz/memory_meter.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace halfstep::fuzz {
namespace {

/// Bytes in a line of /proc/self/status.
int64_t status_of(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return std::stoll(line.substr(name.size())) * 1024;
  }
  return 0;
}

}  // namespace

MemoryMeter::MemoryMeter() {
  std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak to the present memory
  before_ = status_of("VmRSS:");
}

int64_t MemoryMeter::peak() const { return std::max<int64_t>(status_of("VmHWM:") - before_, 0); }

}  // namespace halfstep::fuzz
