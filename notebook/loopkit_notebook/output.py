"""A widget's two outputs in a notebook: the live view, and a static copy that is kept up to date for the saved file.

The copy is an output of its own, because JupyterLab shows `model not found` for a saved widget and never its
alternatives (spec/faults.md f13). While the widget lives it hides its copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

MimeBundle = Mapping[str, Any]


class StaticCopy:
    """The output that stays readable without a kernel.

    Args:
        copy_id: names the output among all of the notebook.

    Attributes:
        shown: there is a copy to keep up to date.
    """

    def __init__(self, copy_id: str) -> None:
        self._display_id = f"loopkit-copy-{copy_id}"
        self.shown = False

    def show(self, view: MimeBundle, copy: MimeBundle) -> None:
        """Publish the live view and, below it, its copy."""
        _publish(view)
        _publish(copy, display_id=self._display_id)
        self.shown = True

    def update(self, copy: MimeBundle) -> None:
        """Replace the copy wherever it is shown; the live view is left alone."""
        if self.shown and InteractiveShell.initialized():
            _publish(copy, display_id=self._display_id, update=True)


def _publish(bundle: MimeBundle, **options: Any) -> None:
    display(dict(bundle), raw=True, **options)  # type: ignore[no-untyped-call] # IPython has no annotation there
