// The options of samples, which every subcommand that reads some has.
#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"
#include "halfstep/api/errors.h"

namespace halfstep::cli {
namespace {

/// "1/255" becomes its quotient; anything else stays as it is, for the checks behind it.
CLI::Validator fraction() {
  return {[](std::string& text) {
            const size_t slash = text.find('/');
            double above = 0, below = 0;
            if (slash == std::string::npos || !CLI::detail::lexical_cast(text.substr(0, slash), above) ||
                !CLI::detail::lexical_cast(text.substr(slash + 1), below) || below == 0)
              return std::string();
            text = fmt::format("{}", above / below);
            return std::string();
          },
          ""};
}

CLI::Validator not_zero() {
  return {[](const std::string& text) {
            double number = 0;
            const bool is_zero = CLI::detail::lexical_cast(text, number) && number == 0;
            return is_zero ? fmt::format("found '{}', expected a number that is not 0", text) : std::string();
          },
          ""};
}

/// "224x224", height first.
io::PictureSize parse_size(const std::string& text) {
  const size_t times = text.find('x');
  io::PictureSize size;
  if (times == std::string::npos || !CLI::detail::lexical_cast(text.substr(0, times), size.height) ||
      !CLI::detail::lexical_cast(text.substr(times + 1), size.width) || size.height < 1 || size.width < 1)
    fail(errors::option_of_other_form("--size", text, "HEIGHTxWIDTH, as in 224x224"));
  return size;
}

void add_frame(CLI::App& command, train::PreprocessOptions& p) {
  command
      .add_option("--resize", p.resize, "images: length of the short side in pixels; the long one keeps the proportion")
      ->check(within(limits::kPixels));
  command
      .add_option("--crop", p.crop,
                  "images: side in pixels of the central square that is kept, after --resize or --size")
      ->check(within(limits::kPixels));
  command.add_option_function<std::string>(
      "--size", [&p](const std::string& text) { p.size = parse_size(text); },
      "images: HEIGHTxWIDTH for both sides, whatever the proportion");
  command.add_flag_callback(
      "--ignore-orientation", [&p] { p.ignores_orientation = true; },
      "images: as they are stored, instead of upright as Exif says");
}

void add_values(CLI::App& command, train::PreprocessOptions& p) {
  using Numbers = std::vector<float>;
  command.add_option("--preprocess", p.preset, "scale, mean and std by name: imagenet, cifar10, or unit (0 to 1)")
      ->check(one_of({"imagenet", "cifar10", "unit"}));
  command.add_option("--scale", p.scale, "factor of raw values (images, csv), as in 1/255")
      ->transform(fraction())
      ->check(not_zero())
      ->check(within(limits::kValue));
  command
      .add_option_function<Numbers>(
          "--mean", [&p](const Numbers& numbers) { p.mean = numbers; },
          "subtracted after it, one number or one for each channel: 0.485,0.456,0.406")
      ->delimiter(',')
      ->transform(fraction())
      ->check(within(limits::kValue));
  command
      .add_option_function<Numbers>(
          "--std", [&p](const Numbers& numbers) { p.deviation = numbers; }, "divided by after that, as --mean")
      ->delimiter(',')
      ->transform(fraction())
      ->check(within(limits::kDeviation));
  command.add_flag_callback(
      "--bgr", [&p] { p.reverses_channels = true; },
      "the network takes blue, green, red; images have red, green, blue");
  command.add_flag_callback(
      "--channels-last", [&p] { p.channels_last = true; }, "the network takes [n, height, width, channels]");
}

}  // namespace

void add_reading(CLI::App& command, DataArguments& data, const std::string& flags) {
  command.add_option(
      flags, data.path,
      "images in folders, in an archive or in a list; csv, IDX, npz or safetensors; the embedded digits without it");
  command.add_option("--samples", data.read.samples, "at most this many samples of each part, evenly spread; 0: all")
      ->check(within(limits::kSamples));
  command.add_flag("--all", data.read.all, "every sample, instead of one part to train and one to test");
  command.add_flag("--skip-bad", data.read.skip_bad, "leave out images that cannot be read, and say which");
  command.add_option("--label", data.read.label,
                     "where a csv or a list has the label: first, last, none or the name of a column");
}

void add_data(CLI::App& command, DataArguments& data, const std::string& flags) {
  add_reading(command, data, flags);
  add_frame(command, data.preprocess);
  add_values(command, data.preprocess);
}

api::LoadedPair load_both(const std::filesystem::path& network, const DataArguments& data) {
  return api::load_both(network, data.path, data.read, data.preprocess);
}

void print_notes(const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fputs(("halfstep: note: " + note + "\n").c_str(), stderr);
}

}  // namespace halfstep::cli
