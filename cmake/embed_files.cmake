# Writes OUTPUT: a C++ table of the contents of FILES (paths relative to the working folder), in the order given.
set(arrays "")
set(table "")
set(index 0)
foreach(file IN LISTS FILES)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes
                       "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${index}[] = {\n${bytes}0};\n")
  string(APPEND table "    {\"${file}\", contents(kFile${index})},\n")
  math(EXPR index "${index} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Written by cmake/embed_files.cmake.
#include \"halfstep/core/base/embedded.h\"

#include <vector>

namespace halfstep {
namespace {

${arrays}
// A zero follows each file, so that an empty one is an array too.
template <size_t N>
std::span<const std::byte> contents(const unsigned char (&bytes)[N]) {
  return std::as_bytes(std::span(bytes, N - 1));
}

}  // namespace

std::span<const EmbeddedFile> embedded_files() {
  static const std::vector<EmbeddedFile> files = {
${table}  };
  return files;
}

}  // namespace halfstep
")
