#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "halfstep/core/base/status.h"

namespace halfstep::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void on_signal(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

/// Draws one stage at a time.
class Display {
 public:
  explicit Display(bool terminal) : terminal_(terminal) {}

  void show(const Progress& progress) {
    const bool fresh = progress.stage != stage_;
    if (fresh) {
      stage_ = progress.stage;
      shown_ = -1;
      began_ = Clock::now();
      from_ = progress.done;
    }
    const int percent = progress.total > 0 ? static_cast<int>(100 * progress.done / progress.total) : 0;
    const int step = terminal_ ? 1 : 20;  // few lines in a log
    if (percent / step == shown_ && percent != 100) return;
    if (percent == 100 && shown_ == 100 / step) return;
    shown_ = percent / step;
    const std::string line =
        terminal_ ? bar(percent, progress)
                  : fmt::format("{}: {:3} %{}  {}", progress.stage, percent, left(progress), progress.note);
    std::fputs((terminal_ ? "\r\x1b[K" + line : line + "\n").c_str(), stderr);
    if (terminal_ && percent == 100) std::fputs("\n", stderr);
    std::fflush(stderr);
  }

 private:
  std::string bar(int percent, const Progress& progress) const {
    constexpr int kWidth = 30;
    const int full = percent * kWidth / 100;
    return fmt::format("{:<15} [{}{}] {:3} %{}  {}", progress.stage, std::string(static_cast<size_t>(full), '#'),
                       std::string(static_cast<size_t>(kWidth - full), '.'), percent, left(progress), progress.note);
  }

  /// ", 75 s left" if the stage continues at its average speed since it began or continued after another stage. "" if
  /// less than 1 s is left.
  std::string left(const Progress& progress) const {
    if (progress.done <= from_) return {};
    const double gone = std::chrono::duration<double>(Clock::now() - began_).count();
    const double seconds = gone * (progress.total - progress.done) / (progress.done - from_);
    if (seconds < 1) return {};
    return seconds < 120 ? fmt::format(", {:.0f} s left", seconds) : fmt::format(", {:.0f} min left", seconds / 60);
  }

  using Clock = std::chrono::steady_clock;
  bool terminal_;
  Clock::time_point began_;
  double from_ = 0;  ///< progress of the stage at began_
  std::string stage_;
  int shown_ = -1;
};

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

ProgressCallback make_progress(bool visible) {
  const auto display = std::make_shared<Display>(isatty(STDERR_FILENO) != 0);
  return [display, visible](const Progress& progress) {
    if (interrupted) fail(errors::interrupted("a signal"));
    if (visible) display->show(progress);
  };
}

}  // namespace halfstep::cli
