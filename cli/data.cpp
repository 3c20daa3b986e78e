#include <fmt/format.h>

#include "cli/command.h"

namespace halfstep::cli {

void add_data_command(CLI::App& program, Work& work) {
  struct Options {
    Common common;
    DataArguments data;
    OutFile sheet;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = add_command(program, "data", "Say what is understood of samples: classes, parts, sizes, values",
                                  "halfstep data photos --sheet photos.png", options->common);
  add_reading(*command, options->data, "path,--data");
  add_out_file(*command, options->sheet, "--sheet", "PNG file for up to 96 of the pictures, to look at");
  command->callback([options, &work] {
    work = [options] {
      options->sheet.require();
      const api::Dataset data = api::load_data(options->data.path, io::kMaxClasses, options->data.read);
      const api::DataReport report = api::inspect_data(data, options->common.settings());
      fmt::print("{}", options->common.json ? report::as_json(report) : report::as_text(report));
      if (options->sheet.path.empty()) return int{kDone};
      api::write_contact_sheet(data, options->sheet.path);
      if (!options->common.json) fmt::print("wrote {}\n", options->sheet.path.string());
      return int{kDone};
    };
  });
}

}  // namespace halfstep::cli
