"""The site: Sphinx with Furo, pages in Markdown. tools/site.sh puts the pages together and runs it."""

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
