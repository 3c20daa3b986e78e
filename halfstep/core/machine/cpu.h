// CPU levels: chosen at run time, forced by HALFSTEP_CPU=scalar|avx2|avx512|vnni|amx.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace halfstep {

/// Each level includes the ones before it.
enum class CpuLevel { scalar, avx2, avx512, vnni, amx };

std::string_view name(CpuLevel level);
std::optional<CpuLevel> parse_cpu_level(std::string_view text);

/// The highest level that this machine has.
CpuLevel detected_cpu_level();
/// Whether CPUID says how large the tiles of AMX are. Hypervisors that hide this leave the instructions usable, but not
/// by libraries that make their configuration of it.
bool cpu_describes_tiles();

/// The detected level, or the one that HALFSTEP_CPU names; throws when that is unknown (bad_input) or absent here
/// (unsupported).
CpuLevel cpu_level();

/// Every level that this machine has, lowest first.
std::vector<CpuLevel> available_cpu_levels();

}  // namespace halfstep
