#include "halfstep/report/common/html.h"

#include <fmt/format.h>
#include <nettle/base64.h>

namespace halfstep::report {
namespace {

constexpr const char* kSharedStyle = R"(
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #b4bcc5; --bad: #a4262c; --good: #eef1f4;
        --mark: #2f6690; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --paper: #15181c; --line: #59626c; --bad: #ff8f87; --good: #262b31; --mark: #8ab8dd; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 64rem;
       margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--line); }
td:first-child, th:first-child, .text { text-align: left; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
.wide { overflow-x: auto; }
.cell { stroke: var(--line); fill: var(--good); } .bad { fill: var(--bad); }
code { font: .92em ui-monospace, monospace; }
)";

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{}</title><style>{}{}</style></head><body>\n{}</body></html>\n",
      escaped(title), kSharedStyle, style, body);
}

std::string html_table(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows,
                       size_t text_columns) {
  const auto cell = [&](const char* tag, size_t column, const std::string& contents) {
    return fmt::format("<{0}{1}>{2}</{0}>", tag, column < text_columns ? " class=\"text\"" : "", contents);
  };
  std::string text = "<div class=\"wide\" tabindex=\"0\"><table><thead><tr>";
  for (size_t i = 0; i < header.size(); ++i) text += cell("th", i, header[i]);
  text += "</tr></thead><tbody>\n";
  for (const auto& row : rows) {
    text += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) text += cell("td", i, row[i]);
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string png_address(std::span<const std::byte> png) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(png.size()), '\0');
  base64_encode_raw(text.data(), png.size(), reinterpret_cast<const uint8_t*>(png.data()));
  return "data:image/png;base64," + text;
}

}  // namespace halfstep::report
