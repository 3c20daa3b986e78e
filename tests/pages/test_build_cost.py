"""tools/check_build_cost.py judges a build by ninja's log, and skips sources that ccache had."""

import importlib.util

import pytest
from pages import ROOT


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_build_cost", ROOT / "tools/check_build_cost.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


UNIT = "CMakeFiles/halfstep_calibrate.dir/tests/cost/calibrate.cpp.o"


@pytest.fixture
def build(tmp_path):
    """Writes the log of a build: sources of 10 units each, except for the given ones."""

    def write(count, name="release", **other):
        folder = tmp_path / name
        folder.mkdir()
        seconds = {f"CMakeFiles/halfstep_api.dir/halfstep/api/{i}.cpp.o": 10 for i in range(count)}
        seconds |= {UNIT: 1, "CMakeFiles/test_api.dir/tests/api/a.cpp.o": 5000}
        seconds |= {f"CMakeFiles/halfstep_cli.dir/cli/{source}.cpp.o": s for source, s in other.items()}
        lines = [f"0\t{1000 * s}\t1\t{output}\tabc" for output, s in seconds.items()]
        (folder / ".ninja_log").write_text("\n".join(["# ninja log v5", *lines]) + "\n")
        return folder

    return write


def test_a_build_within_its_budget_passes(check, build, capsys):
    assert check.main(build(check.BUDGET // 10)) == 0
    assert f"{check.BUDGET // 10 * 10} units of 1.0 s" in capsys.readouterr().out


def test_a_build_over_its_budget_fails(check, build, capsys):
    assert check.main(build(check.BUDGET // 10 + 1)) == 1
    assert f"at most {check.BUDGET}" in capsys.readouterr().out


def test_one_source_that_takes_a_large_share_fails(check, build, capsys):
    assert check.main(build(check.BUDGET // 20, big=30)) == 1
    assert "halfstep_cli: cli/big.cpp" in capsys.readouterr().out


def test_the_last_time_of_a_source_counts(check, build):
    folder = build(check.BUDGET // 10)
    with (folder / ".ninja_log").open("a") as log:
        log.write("0\t900000\t2\tCMakeFiles/halfstep_api.dir/halfstep/api/0.cpp.o\tabc\n")
    assert check.main(folder) == 1


def test_a_source_out_of_ccache_is_no_judgement(check, build, capsys):
    folder = build(check.BUDGET)
    (folder / "ccache.log").write_text("# /a/halfstep/api/0.cpp\ncache_miss\n# /a/halfstep/api/1.cpp\ndirect_cache_hit\n")
    assert check.main(folder) == check.SKIPPED
    assert f"ccache had 1 of {check.BUDGET + 1} sources" in capsys.readouterr().out
    (folder / "ccache.log").write_text("# /a/halfstep/api/1.cpp\ndirect_cache_hit\n# /a/halfstep/api/1.cpp\ncache_miss\n")
    assert check.main(folder) == 1


def test_other_presets_and_builds_without_a_unit_are_no_judgement(check, build, tmp_path):
    assert check.main(build(check.BUDGET, name="dev")) == check.SKIPPED
    folder = build(check.BUDGET)
    log = (folder / ".ninja_log").read_text()
    (folder / ".ninja_log").write_text("\n".join(line for line in log.splitlines() if UNIT not in line) + "\n")
    assert check.main(folder) == check.SKIPPED
