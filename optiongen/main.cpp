// optiongen --out FOLDER ROOM/options.yaml... verbs/VERB.yaml...: generates structs, the command-line options of each
// verb, and the verbs of Python from the descriptions of options. docs/internals/options.md documents their keys.
// optiongen does not link the library, because the library's lowest room needs the ranges.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "optiongen/emit.h"

int main(int count, char** words) {
  namespace gen = halfstep::optiongen;
  try {
    const std::vector<std::string> arguments(words + 1, words + count);
    if (arguments.size() < 3 || arguments[0] != "--out")
      throw gen::Wrong("usage: optiongen --out FOLDER ROOM/options.yaml... verbs/VERB.yaml...");
    gen::Descriptions all;
    for (size_t i = 2; i < arguments.size(); ++i) {
      const bool is_room = arguments[i].ends_with("/options.yaml");
      is_room ? all.add_room(arguments[i]) : all.add_verb(arguments[i]);
    }
    all.check();
    for (const gen::Room& room : all.rooms()) gen::write_room(all, room, arguments[1]);
    gen::write_commands(all, arguments[1]);
    gen::write_python(all, arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "optiongen: %s\n", error.what());
    return 1;
  }
  return 0;
}
