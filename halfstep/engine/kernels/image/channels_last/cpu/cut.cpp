#include "halfstep/engine/kernels/image/channels_last/cpu/cut.h"

namespace halfstep::kernels::channels_last {

double Cut::turns() const {
  double turns = 0;
  for (const int64_t threads : {2, 8}) turns += static_cast<double>(ceil_div(pieces(), threads) * threads);
  return turns;
}

Cut::Piece Cut::piece(int64_t number) const {
  const int64_t band = number % bands(), group = number / bands() % groups();
  const int64_t part = number / bands() / groups();  // changes slowest, so that its weights stay in the cache
  return {.image = group * images_,
          .images = std::min(images_, all_images_ - group * images_),
          .first = band * lines_,
          .lines = std::min(lines_, all_lines_ - band * lines_),
          .block = part * blocks_ / parts_,
          .last_block = (part + 1) * blocks_ / parts_};
}

}  // namespace halfstep::kernels::channels_last
