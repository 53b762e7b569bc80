"""The documentation site: `make docs`. Nothing in a built page asks another host for anything."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import tutor

project = "tutor"
author = "tutor contributors"
copyright = "tutor contributors"
version = release = tutor.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "by_name",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "chapters",
    "docstrings",
    "live",
    "mathml",
    "pictures",
    "places",
    "shell",
    "tables",
]
exclude_patterns = ["_build", "_site", "_templates", "exhaustive.md"]  # it is in conformance.md
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# The chapters are run, once for each change; what the other pages show is run by tests/docs.
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build/.jupyter_cache")  # of either site
nb_merge_streams = True  # what a cell prints stands together
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 1200  # seconds, for one cell: chapter 12 may train for a quarter of an hour

autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": True}
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_preserve_defaults = True
add_module_names = False
toc_object_entries_show_parents = "hide"  # beside a page there is room for `to()`
nitpick_ignore_regex = [  # base classes and type variables of no interest, or of Python itself
    ("py:class", r"(abc|collections\.abc|ctypes)\..*"),
    ("py:class", r"tutor\.optim\.optimizer\.Optimizer"),  # public as tutor.optim.Optimizer
    ("py:class", r"tutor\.backends\.simd_cpp\._simd\..*"),
    ("py:class", r"tutor\.(core\.engine\.grad_mode\._Recording|_storage\.array_like\.IsTensor)"),
    ("py:class", r"tutor\.nn\.(cells|transformer)\.(OneStateCell|Cell|Stack|Layer)"),
    ("py:obj", r"tutor\..*\.[RT]"),
]

html_math_renderer = "mathml"
html_theme = "sphinx_book_theme"
html_title = "tutor"
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark like the system, until the reader chooses
html_static_path = ["_static"]
html_css_files = ["tutor.css"]
html_extra_path = ["_site/pages"]  # pages that are not made by Sphinx, copied as they stand
html_sidebars = {
    "**": ["navbar-logo.html", "search-button-field.html", "live.html", "sbt-sidebar-nav.html"]
}
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "show_toc_level": 2,
    "navbar_persistent": [],  # the search box is in the side bar already
    "use_download_button": False,
    "use_fullscreen_button": False,
}
copybutton_prompt_text = ">>> "
copybutton_only_copy_prompt_lines = False
