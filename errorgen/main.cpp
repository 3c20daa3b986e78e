// errorgen --out FOLDER ROOM/errors.yaml...: turns the catalogue of errors into a header and a source for each room and
// a table of all. Adding an error is one entry in one of these files; docs/internals/errors.md says what an entry has.
// Links nothing of the library, whose lowest room needs the header.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "errorgen/catalogue.h"
#include "errorgen/emit.h"

int main(int count, char** words) {
  namespace gen = halfstep::errorgen;
  try {
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.size() < 3 || arguments[0] != "--out")
      throw gen::Wrong("usage: errorgen --out FOLDER ROOM/errors.yaml...");
    gen::Catalogue catalogue;
    for (size_t i = 2; i < arguments.size(); ++i) catalogue.add(arguments[i]);
    for (const gen::Room& room : catalogue.rooms()) gen::write_room(room, arguments[1]);
    gen::write_table(catalogue, arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "errorgen: %s\n", error.what());
    return 1;
  }
  return 0;
}
