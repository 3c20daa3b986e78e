"""Halfstep's operators on NumPy arrays and on CPU tensors of any library that speaks DLPack.

Every operator is a function here and in halfstep.ops, which lists them.
"""

from halfstep import ops
from halfstep._core import AbsentResultError, Error, Results, __version__, set_threads, threads
from halfstep.ops import *  # noqa: F403

__all__ = ["AbsentResultError", "Error", "Results", "__version__", "ops", "set_threads", "threads"]
__all__ += ops.__all__
