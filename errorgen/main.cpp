// errorgen --out FOLDER ROOM/errors.yaml...: generates a header and a source for each room from the error catalogue,
// and a table of all entries. A new error needs only an entry in one of these files, with the keys described in
// docs/internals/errors.md. errorgen does not link the library, because the library's lowest room needs the header.
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
