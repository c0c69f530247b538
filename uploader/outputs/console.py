"""Report to a person at a terminal, or to a plain log: what happened on stdout, warnings, errors
and bars on stderr.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TextIO

from uploader.outputs.progress import ProgressBar
from uploader.outputs.reporter import LogReporter, neutral, writable
from uploader.reporting import UploadListener, UploadProgress

SMALL = 1024 * 1024  # bytes


class ConsoleReporter(LogReporter):
    """The reporter outside of CI systems: bars if stderr is a terminal, else lines."""

    _bars = False

    def _list_outputs(self, outputs: Mapping[str, str]) -> None:
        """List the outputs, except to a person at a terminal, whose last line is the result."""
        if not self._out.isatty():
            super()._list_outputs(outputs)

    def show_progress(self, upload: UploadProgress) -> UploadListener:
        """Show a moving bar on a terminal, else what every reporter shows. A small file is sent so
        quickly that it needs no bar.
        """
        is_small = upload.size is not None and upload.size <= SMALL
        if is_small or not self._terminal:
            return super().show_progress(upload)
        self._bars = True
        name = self.redactor.one_line(upload.name, 40)
        label = writable(neutral(name), self._err)
        return ProgressBar(self.info, label, upload, self._err)

    @cached_property
    def _terminal(self) -> bool:
        """Whether stderr is a terminal that has a width and so can show bars. Cached, since there
        may be many files.
        """
        try:
            size = os.get_terminal_size(self._err.fileno())
        except OSError:
            return False
        return size.columns > 0

    def _put(self, text: str, stream: TextIO) -> None:
        if self._bars:
            ProgressBar.write_above(text, stream)
        else:
            super()._put(text, stream)
