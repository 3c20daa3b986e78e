"""For programs of every class, a captured function returns, writes and prints the same as its Python code, to the bit.
"""

import pytest

from captured import autograd, branches, closures, containers, control, loops, modules, places, state
from captured.harness import PROGRAMS, compared

COUNTS = {branches: 8, loops: 8, containers: 8, closures: 6, state: 8, places: 6, modules: 6, autograd: 6, control: 4}


def test_the_classes():
    for module, count in COUNTS.items():
        assert sum(make.__module__ == module.__name__ for make in PROGRAMS) == count, module.__name__
    assert len(PROGRAMS) == 60


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: f"{make.__module__.split('.')[-1]}.{make.__name__}")
@pytest.mark.filterwarnings("error")
def test_captured_is_as_python(make):
    outcome = compared(make)
    assert not outcome.differences, "\n".join(outcome.differences)
    assert outcome.function._eager == ""
    assert (outcome.served, outcome.captures) == (outcome.calls, 0), outcome.function.why_recaptured
