"""How many calls a process of a run may have in flight, and the files that it opens for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_factorfair import process

if TYPE_CHECKING:
    from pytest_factorfair.runs.run import Run

SPARE_FILES = 96
"""Files that a run has open besides its connections: the store, its log, reports, the user's own."""

SPARE_FILES_FOR_PICTURES = 160
"""Pictures of a batch that are written at once, or connections to a bucket."""


class Connections:
    """The connections of one process; the limit on its open files is raised on first use."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._files: process.OpenFiles | None = None

    @property
    def per_endpoint(self) -> int:
        """Calls in flight to one endpoint: no more than this process may open files for."""
        if (files_left := self._opened.left) is None:
            return self._wanted
        return max(1, min(self._wanted, (files_left - self._spare_files) // self._endpoints))

    def note(self, workers: int) -> str:
        """What the user can do if files limit the connections of this many workers; "" if they do not.

        The number in use is about right with workers, some of which have more files open than this process.
        """
        processes = max(1, workers)
        wanted_per_process = self._wanted // processes
        if self.per_endpoint >= wanted_per_process:
            return ""
        needed = wanted_per_process * self._endpoints + self._spare_files
        return (
            f"{self._wanted:,} connections would need more than the {self._opened.limit:,} files that a "
            f"process may open: {'about ' if workers else ''}{processes * self.per_endpoint:,} are used; "
            f"ulimit -n {needed + process.FEW} allows all"
        )

    def close(self) -> None:
        """Restore the limit on open files."""
        if self._files is not None:
            self._files.give_back()

    @property
    def _opened(self) -> process.OpenFiles:
        if self._files is None:
            self._files = process.OpenFiles(self._wanted * self._endpoints + self._spare_files)
        return self._files

    @property
    def _wanted(self) -> int:
        """The connections wanted: as many as replicas take, unless the user limits them."""
        run, settings = self._run, self._run.settings
        if run.cluster is None or "max-connections" in settings.origins:
            return settings.connections
        return max(settings.connections, *(model.parallel or 0 for model in run.models.values()))

    @property
    def _spare_files(self) -> int:
        return SPARE_FILES + (SPARE_FILES_FOR_PICTURES if self._run.modality == "image" else 0)

    @property
    def _endpoints(self) -> int:
        looking = [] if self._run.looking is None else [self._run.looking.model]
        return len({model.endpoint for model in (*self._run.models.values(), *looking)})
