#include <fmt/format.h>

#include "cli/command.h"
#include "halfstep/api/explain.h"
#include "halfstep/report/errors.h"

namespace halfstep::cli {

void add_explain(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    std::string id;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "explain", "Say what an error means and how to go on",
                                  "halfstep explain HS8001", options->common);
  command->add_option("id", options->id, "id or name of an error; without one all are listed");
  command->callback([options, &work] {
    work = [options] {
      const auto print = [&](const auto& found) {
        fmt::print("{}", options->common.json ? report::as_json(found) : report::as_text(found));
      };
      if (options->id.empty()) {
        print(api::all_errors());
      } else {
        print(api::explain(options->id));
      }
      return kDone;
    };
  });
}

}  // namespace halfstep::cli
