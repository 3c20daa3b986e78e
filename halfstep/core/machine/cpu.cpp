#include "halfstep/core/machine/cpu.h"

#include <array>
#include <cstdlib>

#include "halfstep/core/base/status.h"
#include "halfstep/core/machine/errors.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace halfstep {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"scalar", "avx2", "avx512", "vnni", "amx"};

#if defined(__x86_64__) && defined(__linux__)
/// AMX needs the instructions (CPUID leaf 7, EDX bits 24 and 25) and the kernel's permission to use tile state.
bool has_amx() {
  constexpr unsigned kTile = 1U << 24, kInt8 = 1U << 25;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & (kTile | kInt8)) != (kTile | kInt8)) return false;
  constexpr long kArchReqXcompPerm = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

/// CPUID leaf 1DH, palette 1: eight tiles of sixteen rows of 64 bytes.
bool describes_tiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(0x1D, 1, &a, &b, &c, &d) != 0 && (b & 0xFFFFU) == 64 && b >> 16 == 8 && (c & 0xFFFFU) == 16;
}

/// Conversions between f16 and f32: CPUID leaf 1, ECX bit 29.
bool has_f16c() {
  constexpr unsigned kF16c = 1U << 29;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
}

CpuLevel detect() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !has_f16c()) return CpuLevel::scalar;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (!avx512) return CpuLevel::avx2;
  if (!__builtin_cpu_supports("avx512vnni")) return CpuLevel::avx512;
  return has_amx() ? CpuLevel::amx : CpuLevel::vnni;
}
#else
bool describes_tiles() { return false; }
CpuLevel detect() { return CpuLevel::scalar; }
#endif

CpuLevel forced_or_detected() {
  const char* forced = std::getenv("HALFSTEP_CPU");
  if (forced == nullptr || *forced == '\0') return detected_cpu_level();
  const auto level = parse_cpu_level(forced);
  if (!level) fail(errors::unknown_cpu_level(forced));
  if (*level > detected_cpu_level()) fail(errors::cpu_level_missing(forced, name(detected_cpu_level())));
  return *level;
}

}  // namespace

std::string_view name(CpuLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

std::optional<CpuLevel> parse_cpu_level(std::string_view text) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == text) return static_cast<CpuLevel>(i);
  }
  return std::nullopt;
}

CpuLevel detected_cpu_level() {
  static const CpuLevel kLevel = detect();
  return kLevel;
}

bool cpu_describes_tiles() {
  static const bool kDescribes = describes_tiles();
  return kDescribes;
}

CpuLevel cpu_level() {
  static const CpuLevel kLevel = forced_or_detected();
  return kLevel;
}

std::vector<CpuLevel> available_cpu_levels() {
  std::vector<CpuLevel> levels;
  for (int i = 0; i <= static_cast<int>(detected_cpu_level()); ++i) levels.push_back(static_cast<CpuLevel>(i));
  return levels;
}

}  // namespace halfstep
