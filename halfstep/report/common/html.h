// Self-contained HTML pages: one file, no scripts, no network. Words and numbers repeat all information that colours
// show.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::report {

/// Escapes text for HTML content and attributes.
std::string escaped(std::string_view text);

/// A complete page. `style` is CSS after the rules that all pages share, and `body` is HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

/// A table that scrolls horizontally if it is wider than the screen. Cells are HTML. The first `text_columns` columns
/// are text, the others are numbers.
std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                       size_t text_columns = 1);

/// A data URL, "data:image/png;base64,...".
std::string png_address(std::span<const std::byte> png);

}  // namespace halfstep::report
