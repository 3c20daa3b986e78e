#!/bin/sh
# Build the pages of docs/, README and the generated references as a site in build/site. Its generator comes from PyPI
# (the extra `docs` of pyproject.toml) and is installed in build/docs_venv. Dead references are errors, and so are pages
# without a section.
# usage: tools/site.sh [BUILD]    (BUILD: a finished build folder with the Python package; default build/release)
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
venv=build/docs_venv
pages=build/site_pages

if [ ! -e "$build"/gen/python/halfstep/ops.py ]; then
  echo "site: $build has no Python package; make test builds it" >&2
  exit 2
fi
if [ ! -e $venv/stamp ] || [ pyproject.toml -nt $venv/stamp ]; then
  build/venv/bin/python -m venv $venv
  needs=$(sed -n 's/^docs = \[\(.*\)\].*/\1/p' pyproject.toml | tr -d '",')
  # shellcheck disable=SC2086  # $needs holds several words
  $venv/bin/pip install --quiet --disable-pip-version-check $needs
  touch $venv/stamp
fi

rm -rf $pages build/site
mkdir -p $pages
cp -r docs/. HACKING.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff LICENSE examples $pages
cat README.md docs/contents.md > $pages/index.md
rm $pages/contents.md
# On the site README and docs/ are in one folder, so links to the root of the sources lose one step.
sed -i 's#](docs/#](#g; s#](\.\./#](#g' $pages/*.md
sed -i 's#](\.\./\.\./#](../#g' $pages/*/*.md
$venv/bin/python tools/reference.py "$build" $pages/reference
$venv/bin/sphinx-build --quiet --fail-on-warning -b html $pages build/site
unlabelled=$(grep -rL --include='*.html' section-label build/site |
  grep -vx 'build/site/\(index\|genindex\|search\).html' || true)
if [ -n "$unlabelled" ]; then
  echo "site: pages without a section, see docs/contents.md: $unlabelled" >&2
  exit 1
fi
echo "site: build/site/index.html, $(find build/site -name '*.html' | wc -l) pages"
