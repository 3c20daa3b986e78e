"""Progress of long work, with the remaining time, in a terminal or a notebook."""

from __future__ import annotations

import sys
import time
from typing import Callable, Union

Callback = Callable[[str, float, float, str], None]
Progress = Union[None, bool, Callback]
"""Progress output. None: only in a terminal or a notebook. True: always. False: never. A function is called with stage,
done, total and a note. An exception that it raises ends the work.
"""

_WIDTH = 30
_SECONDS = 0.1


def _watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class _Bar:
    def __init__(self) -> None:
        self._stage = ""
        self._began = self._shown = 0.0

    def __call__(self, stage: str, done: float, total: float, note: str) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._began, self._shown = stage, now, 0.0
        finished = done >= total
        if now - self._shown < _SECONDS and not finished:
            return
        self._shown = now
        share = done / total if total else 1.0
        left = (now - self._began) * (1 - share) / share if share else 0.0
        bar = ("#" * int(share * _WIDTH)).ljust(_WIDTH, ".")
        tail = "" if finished else f"  {left:.0f} s left"
        sys.stderr.write(f"\r\x1b[K{stage:<15} [{bar}] {100 * share:3.0f} %{tail}  {note}" + ("\n" if finished else ""))
        sys.stderr.flush()


def callback(progress: Progress) -> Callback | None:
    """Return the function to call with progress, or None."""
    if callable(progress):
        return progress
    return _Bar() if progress or (progress is None and _watched()) else None
