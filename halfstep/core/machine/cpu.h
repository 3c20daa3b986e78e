// CPU levels: detected at run time, or forced by HALFSTEP_CPU=scalar|avx2|avx512|vnni|amx.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace halfstep {

/// CPU levels, ascending. Each level includes all lower ones.
enum class CpuLevel { scalar, avx2, avx512, vnni, amx };

std::string_view name(CpuLevel level);
std::optional<CpuLevel> parse_cpu_level(std::string_view text);

/// Returns the highest level of this machine.
CpuLevel detected_cpu_level();
/// Whether CPUID reports the tile sizes of AMX. Some hypervisors hide them. The instructions still work then, but
/// libraries that derive their tile configuration from CPUID fail.
bool cpu_describes_tiles();

/// Returns the level in HALFSTEP_CPU, or the detected level if it is unset. Throws bad_input for an unknown level,
/// unsupported for one that this machine lacks.
CpuLevel cpu_level();

/// Returns all levels of this machine, lowest first.
std::vector<CpuLevel> available_cpu_levels();

}  // namespace halfstep
