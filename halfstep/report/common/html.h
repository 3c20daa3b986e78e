// Pages that need nothing beside them: one file, no script, no network; what colours show, words and numbers say too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace halfstep::report {

/// Text as it stands in a page, in an attribute too.
std::string escaped(std::string_view text);

/// A whole page. `style` follows the rules that all pages share; `body` is HTML.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

/// A table that scrolls by itself where it is wider than the screen. Cells are HTML; columns from `text_columns` on
/// the left are words, the others numbers.
std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                       size_t text_columns = 1);

/// "data:image/png;base64,...".
std::string png_address(std::span<const std::byte> png);

}  // namespace halfstep::report
