#include "halfstep/data/datasets/image_list.h"

#include "halfstep/core/base/status.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/image.h"

namespace halfstep::data {
namespace {

bool names_image(CsvLines::Cells cells) { return is_image_name(cells[0]) || !other_image_kind(cells[0]).empty(); }

}  // namespace

bool is_image_list(io::Source& source) {
  CsvLines lines(source);
  for (int i = 0; i < 2; ++i) {
    const auto cells = lines.next();
    if (cells && names_image(*cells)) return true;
  }
  return false;
}

ImageList read_image_list(io::Source& source, int64_t classes, const std::string& label) {
  ImageList list;
  CsvLines lines(source);
  LabelNames names;
  LabelColumn column;
  size_t width = 0;
  while (const auto cells = lines.next()) {
    if (width == 0) {
      width = cells->size();
      const bool is_header = !names_image(*cells);
      column = label_column(*cells, label, lines.where());
      if (label.empty() && width == 2) column.index = 1;
      if (is_header) continue;
    }
    if (cells->size() != width || (width > 2 && label.empty() && !column.exists()))
      fail(errors::csv_cells(lines.where(), cells->size(), "PATH or PATH,LABEL in every line"));
    list.paths.emplace_back((*cells)[0]);
    if (column.exists()) names.add((*cells)[column.index]);
  }
  if (list.paths.empty()) fail(errors::no_samples(lines.name(), "a line for each image"));
  if (!column.exists()) return list;
  auto [labels, found] = names.finish(classes, lines.name());
  list.labels = std::move(labels);
  list.classes = std::move(found);
  return list;
}

}  // namespace halfstep::data
