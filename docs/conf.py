"""The site: Sphinx with Furo, pages in Markdown. tools/site.sh puts the pages together and runs it."""

import html
import pathlib
import re

project = "Halfstep"
copyright = "the authors of Halfstep"
extensions = ["myst_parser"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "Halfstep"
html_show_sphinx = False
html_copy_source = False
html_css_files = ["site.css"]
html_static_path = ["site"]
highlight_language = "text"
suppress_warnings = ["misc.highlighting_failure"]  # blocks of graphs (ir) have no lexer


def sections(text):
    """Return the caption of each page's list in contents.md."""
    lists = re.findall(r"^:caption: ([^\n]*)\n:hidden:\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return {page: caption for caption, pages in lists for page in pages.split()}


def labelled(body, page, sections):
    """Return the body of a page with its section above the title. Pages below a listed one have its section."""
    known = next((name for name in (page, page.rpartition("/")[0]) if name in sections), None)
    return f'<p class="section-label">{html.escape(sections[known])}</p>\n{body}' if known else body


def setup(app):
    found = sections((pathlib.Path(app.srcdir) / "index.md").read_text())

    def label(_app, page, _template, context, _tree):
        if "body" in context:
            context["body"] = labelled(context["body"], page, found)

    app.connect("html-page-context", label)
