"""tools/check_api.py names each public declaration that is added, removed or changed, and wants the CHANGELOG to name it too."""

import subprocess
import sys

import pytest
from pages import ROOT

CHECK = ROOT / "tools/check_api.py"
FILES = {
    "halfstep/halfstep.h": '#include "halfstep/api/verify.h"\n#include "halfstep/options.h"\n',
    "halfstep/api/verify.h": """
        namespace halfstep::api {
        struct Report { bool equal = false; };
        /// Compares two networks.
        Report verify(const std::string& one, const std::string& other, const Options& options = {});
        }
        """,
    "halfstep/core/hidden.h": "namespace halfstep { int not_public(); }\n",
    "build/release/gen/halfstep/options.h": "namespace halfstep::api { struct Options { int64_t batch = 1; enum class Mode { fast, slow }; }; }\n",
    "python/halfstep/__init__.py": 'from halfstep.model import Model\nfrom halfstep.verbs import verify\n__all__ = ["Model", "nn", "verify"]\n_RENAMED = {"Network": "Model"}\n',
    "python/halfstep/model.py": "class _Base:\n    def save(self, path: str) -> None: ...\nclass Model(_Base):\n    stage: str\n    def _private(self): ...\n",
    "build/release/gen/python/halfstep/verbs.py": "def verify(one: Model, other: Model, *, batch: int = 1) -> bool: ...\n",
    **{f"python/halfstep/{name}.py": "" for name in ("datasets", "losses", "magik", "nn", "ops", "optim", "options", "report_rows")},
    "CHANGELOG.md": "# Changes\n\n## [0.2.0] - Unreleased\n\n### Added\n\n- A first version.\n\n## [0.1.0]\n\n- `verify` and `Report` are new.\n",
}
VERIFY_H, VERBS = "halfstep/api/verify.h", "build/release/gen/python/halfstep/verbs.py"


class Tree:
    """A small project with a listing that is committed."""

    def __init__(self, folder):
        self.folder = folder
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        assert self.check("--update").returncode == 0
        for words in (["init", "-q"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "-m", "First"]):
            subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, timeout=60)

    def check(self, *words):
        return subprocess.run([sys.executable, CHECK, "--root", self.folder, *words], capture_output=True, text=True, timeout=60)

    def replace(self, name, old, new):
        text = (self.folder / name).read_text()
        assert old in text
        (self.folder / name).write_text(text.replace(old, new))

    def listing(self, name):
        return (self.folder / "tests/api_surface" / name).read_text().splitlines()


@pytest.fixture
def tree(tmp_path):
    if subprocess.run(["sh", "-c", "command -v ctags && command -v git"], capture_output=True).returncode:
        pytest.skip("there is no ctags or no git")
    return Tree(tmp_path)


def test_listings_have_public_names_alone(tree):
    assert tree.listing("cpp.txt") == [
        "class halfstep::api::Options",
        "class halfstep::api::Report",
        "enum halfstep::api::Options::Mode",
        "function halfstep::api::verify(const std::string& one, const std::string& other, const Options& options={}) -> Report",
        "member halfstep::api::Options::batch: int64_t",
        "member halfstep::api::Report::equal: bool",
        "value halfstep::api::Options::Mode::fast",
        "value halfstep::api::Options::Mode::slow",
    ]
    assert tree.listing("python.txt") == [
        "attribute halfstep.Model.stage: str",
        "class halfstep.Model",
        "function halfstep.verify(one: Model, other: Model, *, batch: int=1) -> bool",
        "method halfstep.Model.save(path: str) -> None",
        "name halfstep.Network = Model",
    ]
    assert tree.check().returncode == 0


@pytest.mark.parametrize(("file", "name"), [(VERIFY_H, "halfstep::api::verify"), (VERBS, "halfstep.verify")])
def test_a_renamed_function_needs_the_listing_and_the_changelog(tree, file, name):
    tree.replace(file, "verify(", "prove(")
    if file == VERBS:
        for old, new in (("import verify", "import prove"), ('"verify"', '"prove"')):
            tree.replace("python/halfstep/__init__.py", old, new)
    done = tree.check()
    assert done.returncode == 1
    assert f"added: {name.replace('verify', 'prove')}; run tools/check_api.py --update" in done.stderr
    assert f"removed: {name}; run tools/check_api.py --update" in done.stderr

    done = tree.check("--update")
    assert done.returncode == 1
    short = name.replace("halfstep::", "").replace("halfstep.", "hs.")
    assert done.stderr == f"CHANGELOG.md:1: {name} was removed; name `{short}` in the first section\n"

    tree.replace("CHANGELOG.md", "- A first version.", f"- `{short}` is called `prove`.")
    assert tree.check().returncode == 0


def test_a_changed_signature_is_named(tree):
    tree.replace(VERIFY_H, "const std::string& other, ", "")
    assert "changed: halfstep::api::verify; run" in tree.check().stderr
    tree.replace("CHANGELOG.md", "- A first version.", "- `api::verify` takes one network.")
    assert tree.check("--update").returncode == 0


def test_a_member_is_named_with_its_class(tree):
    tree.replace(VERIFY_H, "bool equal", "bool same")
    tree.replace("CHANGELOG.md", "- A first version.", "- A `Report` is short, and `equal` is `same`.")
    assert "halfstep::api::Report::equal was removed; name `Report::equal`" in tree.check("--update").stderr
    tree.replace("CHANGELOG.md", "and `equal`", "and `Report::equal`")
    assert tree.check().returncode == 0


def test_a_removed_class_stands_for_its_members(tree):
    tree.replace(VERIFY_H, "struct Report { bool equal = false; };", "")
    assert "removed: halfstep::api::Report; run" in tree.check().stderr


def test_an_added_name_needs_the_listing_alone(tree):
    tree.replace("halfstep/core/hidden.h", "not_public", "still_not_public")
    assert tree.check().returncode == 0
    tree.replace("halfstep/halfstep.h", "#include", '#include "halfstep/core/hidden.h"\n#include')
    assert "added: halfstep::still_not_public; run" in tree.check().stderr
    assert tree.check("--update").returncode == 0


def test_no_build_is_no_failure(tree):
    (tree.folder / "build/release/gen/halfstep/options.h").unlink()
    done = tree.check()
    assert (done.returncode, done.stdout) == (77, f"check_api: skipped, {tree.folder}/build/release has no halfstep/options.h\n")
