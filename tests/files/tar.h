// Writes tar archives for the tests of their reader.
#pragma once

#include <cstdio>

#include "tests/files/bytes.h"

namespace halfstep::test {

inline Bytes tar_entry(const std::string& path, const Bytes& contents, char type = '0', bool posix = true) {
  std::string header(512, '\0');
  header.replace(0, std::min<size_t>(path.size(), 100), path, 0, 100);
  std::snprintf(&header[100], 8, "%07o", 0644);
  std::snprintf(&header[124], 12, "%011zo", contents.size());
  header[156] = type;
  header.replace(257, 8, posix ? std::string("ustar\00000", 8) : std::string("ustar  \0", 8));
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(&header[148], 8, "%06o", sum);
  Bytes bytes = joined(to_bytes(header), contents);
  bytes.resize((bytes.size() + 511) / 512 * 512);
  return bytes;
}

inline Bytes tar_end() { return Bytes(1024); }

}  // namespace halfstep::test
