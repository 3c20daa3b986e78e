#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {

void add_data_command(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    DataArguments data;
    std::filesystem::path sheet;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "data", "Say what is understood of samples: classes, parts, sizes, values",
                                  "halfstep data photos --sheet photos.png", options->common);
  add_reading(*command, options->data, "path,--data");
  command->add_option("--sheet", options->sheet, "PNG file for up to 96 of the pictures, to look at");
  command->callback([options, &work] {
    work = [options] {
      const api::Dataset data = api::load_data(options->data.path, io::kMaxClasses, options->data.read);
      const api::DataReport report = api::inspect_data(data, options->common.settings());
      fmt::print("{}", options->common.json ? report::as_json(report) : report::as_text(report));
      if (options->sheet.empty()) return int{kDone};
      api::write_contact_sheet(data, options->sheet);
      if (!options->common.json) fmt::print("wrote {}\n", options->sheet.string());
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
