"""The open documents of an editor, checked while they change: one session a grammar.

Skills and templates are read, and changes are checked, in one thread beside the loop that answers.
Templates are tried in a process of its own, which may take seconds.
"""

import asyncio
import contextlib
import gc
import logging
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import genie_dp
from genie_dp.errors import Problem
from genie_dp.resources import data_folder
from genie_dp.run.cache import keep_pickled, load_pickled
from genie_dp.serve.editor.bench import Bench, Problems, Trial, real_path
from genie_dp.serve.editor.navigate import Place
from genie_dp.serve.editor.places import DocumentText, Range, path_of
from genie_dp.serve.editor.sources import DocumentSources, FindProject, Sources, find_sources
from genie_dp.synthesis.trials import TriedTemplates

log = logging.getLogger(__name__)
DELAY = 0.06  # seconds of silence before what was typed is checked
_PATIENCE = 5  # seconds for an editor to say that it shows progress
_SUFFIXES = (".genie", ".tt")
_TRYING = "genie_dp.serve.editor.trying"


class Session:
    """One bench, with its pending work.

    Attributes:
        ready: set once skills and templates were read.
        found: why its documents belong to it.
        published: file -> the problems that the editor shows.
    """

    def __init__(self, bench: Bench):
        self.bench = bench
        self.ready = asyncio.Event()
        self.found: DocumentSources | None = None
        self.wants_trial = True
        self.published: dict[str, list[Any]] = {}
        self.timer: asyncio.TimerHandle | None = None
        self.work: asyncio.Task[None] | None = None
        self.is_stale = False
        self.trial: asyncio.Task[None] | None = None


class Editor:
    """All that is open in an editor.

    Attributes:
        texts: real path -> text of each open document, lines ended by one character.
        uris: real path -> how the editor calls it.
    """

    def __init__(self, server: Any, find_project: FindProject):
        self.server, self.find_project = server, find_project
        self.texts: dict[str, str] = {}
        self.uris: dict[str, str] = {}
        self.sessions: dict[Sources, Session] = {}
        self.of_document: dict[str, Session] = {}
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="check")
        self.trying: set[int] = set()  # process ids

    # --------------------------------------------------------------------------- documents

    def open(self, uri: str, text: str) -> None:
        """Take a document that was opened, or changed."""
        path = path_of(uri)
        if path is None or path.suffix not in _SUFFIXES:
            return
        real = real_path(path)
        self.texts[real] = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        is_new = real not in self.of_document
        self.uris[real] = uri
        session = self._join(path) if is_new else self.of_document[real]
        self.schedule(session, 0 if is_new else DELAY)

    def close(self, uri: str) -> None:
        """Forget a document; its file counts again."""
        real = real_path(path_of(uri) or uri)
        if self.texts.pop(real, None) is not None:
            session = self.of_document.pop(real)
            self.schedule(session, 0)
            self._clear(session)
            self.uris.pop(real, None)

    def save(self, uri: str) -> None:
        """Check the project of a file again, and try its templates."""
        session = self.of_document.get(real_path(path_of(uri) or uri))
        if session is not None:
            session.wants_trial = True
            self.schedule(session, 0)

    def changed_on_disk(self, uris: Iterable[str]) -> None:
        """Check all documents again after files changed; a project file may have moved them."""
        if any(uri.endswith(".yaml") for uri in uris):
            before = set(self.of_document.values())
            for real in list(self.of_document):
                self._join(Path(real))
            for session in before:
                self._clear(session)
        for session in set(self.of_document.values()):
            self.schedule(session, DELAY)

    def _join(self, document: Path) -> Session:
        """Return the session of a document, a new one where it is the first of its sources."""
        home = find_sources(document, self.find_project)
        session = self.sessions.get(home.sources)
        if session is None:
            session = self.sessions[home.sources] = Session(Bench(home.sources, self.texts))
        session.found = home
        self.of_document[real_path(document)] = session
        return session

    def _clear(self, session: Session) -> None:
        """Show no problems of a session any more, once nothing of it is open."""
        if session not in self.of_document.values():
            self._show(session, {})

    async def session_of(self, uri: str) -> Session | None:
        """Return the session of an open document, once it is ready."""
        real = real_path(path_of(uri) or uri)
        session = self.of_document.get(real)
        if session is not None:
            await session.ready.wait()
        return session if real in self.texts else None

    # ------------------------------------------------------------------------------ checks

    def schedule(self, session: Session, delay: float) -> None:
        """Check after some silence; a running check is then repeated."""
        session.is_stale = True
        if session.timer is not None:
            session.timer.cancel()
        loop = asyncio.get_running_loop()
        session.timer = loop.call_later(delay, lambda: self._start(session))

    def _start(self, session: Session) -> None:
        if session.work is None or session.work.done():
            session.work = asyncio.ensure_future(self._check(session))
            session.work.add_done_callback(_tell_bug)

    async def _check(self, session: Session) -> None:
        is_first = not session.ready.is_set()
        if is_first:
            await self._tell_reading(session)
        else:
            await self._check_once(session)
        while session.is_stale:
            await self._check_once(session)
        if session.wants_trial and not session.bench.is_broken:
            session.wants_trial = False
            self._try(session)

    async def _tell_reading(self, session: Session) -> None:
        """Read and check for the first time, and show that in the editor."""
        work = asyncio.ensure_future(self._check_once(session))
        end_progress = await begin_progress(self.server, "Reading skills and templates")
        try:
            await work
            session.bench.keep()
        finally:
            view = session.bench.view
            end_progress(f"{len(view.grammar.templates) if view else 0:,} templates")
        # What was read stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()

    async def _check_once(self, session: Session) -> None:
        session.is_stale = False
        loop, bench = asyncio.get_running_loop(), session.bench
        mine = [Path(real) for real, owner in self.of_document.items() if owner is session]
        problems = await loop.run_in_executor(
            self.thread,
            lambda: bench.check(
                mine, when_read=lambda: loop.call_soon_threadsafe(session.ready.set)
            ),
        )
        self.publish(session, problems)
        session.ready.set()

    def publish(self, session: Session, problems: Problems) -> None:
        """Show all problems by file; documents that are open, or had any, get an empty list."""
        by_file: dict[str, list[Problem]] = {}
        for file, of_file in problems.items():
            by_file.setdefault(real_path(file or self._home(session)), []).extend(of_file)
        project = session.found.project if session.found is not None else None
        if project is not None and project.problems:
            by_file.setdefault(real_path(project.file), []).extend(project.problems)
        self._show(session, by_file)

    def _show(self, session: Session, by_file: Mapping[str, Iterable[Problem]]) -> None:
        from lsprotocol import types

        mine = {real for real, owner in self.of_document.items() if owner is session}
        if not mine:
            by_file = {}
        before, session.published = session.published, {}
        for file in sorted(before.keys() | by_file.keys() | mine):
            text = DocumentText(session.bench.source(file), self.encoding)
            diagnostics = [diagnostic(problem, text) for problem in by_file.get(file, ())]
            if diagnostics:
                session.published[file] = diagnostics
            if file in mine or diagnostics != before.get(file):
                params = types.PublishDiagnosticsParams(self.uri_of(file), diagnostics)
                self.server.lsp.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)

    def _home(self, session: Session) -> str:
        """Return the file that shows problems without a place."""
        view = session.bench.view
        files = view.grammar.sources if view else ()
        mine = (real for real, owner in self.of_document.items() if owner is session)
        return next((file for file in (*files, *mine)), "")

    # ------------------------------------------------------------------------------ trials

    def _try(self, session: Session) -> None:
        trial = session.bench.to_try()
        if session.trial is not None:
            session.trial.cancel()
        if trial is not None:
            session.trial = asyncio.ensure_future(self._run_trial(session, trial))

    async def _run_trial(self, session: Session, trial: Trial) -> None:
        place = trial.place()
        tried: TriedTemplates | None = load_pickled(place)
        if tried is None:
            tried = await self._in_own_process(trial)
            if tried is not None and place is not None:
                keep_pickled(place, tried)
        if tried is not None:
            session.bench.take(tried, trial)
            self.schedule(session, 0)

    async def _in_own_process(self, trial: Trial) -> TriedTemplates | None:
        """Return the result of a trial, made in a process that ends when this is cancelled."""
        package = str(Path(genie_dp.__file__).parent.parent)
        places = [package, os.environ.get("PYTHONPATH", "")]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", _TRYING,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
        )  # fmt: skip
        self.trying.add(process.pid)
        try:
            output, _ = await process.communicate(await asyncio.to_thread(trial.input))
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        finally:
            self.trying.discard(process.pid)
        if process.returncode:
            log.error("templates could not be tried: exit code %d", process.returncode)
            return None
        return pickle.loads(output)  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Stop the running trial."""
        for process in self.trying:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGTERM)

    # ----------------------------------------------------------------------------- answers

    @property
    def encoding(self) -> str:
        """Return the unit of columns of the editor."""
        return str(getattr(self.server.workspace.position_encoding, "value", "utf-16"))

    def uri_of(self, file: str) -> str:
        """Return the editor's name of a file."""
        return self.uris.get(real_path(file)) or Path(file).absolute().as_uri()

    def locations(self, session: Session, places: Iterable[Place]) -> list[Any]:
        """Return places as editors name them."""
        from lsprotocol import types

        texts: dict[str, DocumentText] = {}
        files = []
        for file, place in places:
            if file not in texts:
                texts[file] = DocumentText(session.bench.source(file), self.encoding)
            files.append(types.Location(self.uri_of(file), range_in(texts[file], place)))
        return files

    def text_of(self, uri: str) -> DocumentText:
        """Return the text of an open document."""
        return DocumentText(self.texts[real_path(path_of(uri) or uri)], self.encoding)

    def is_writable(self, file: Path) -> bool:
        """Return whether a file is the user's: not one that came with the package.

        In a checkout it is, once the editor has that folder open.
        """
        real = Path(real_path(file))
        shipped = [Path(real_path(data_folder(name))) for name in ("grammars", "thingpedia")]
        if not any(real.is_relative_to(folder) for folder in shipped):
            return True
        workspace = self.server.workspace
        roots = (path_of(uri) for uri in (*workspace.folders, workspace.root_uri or ""))
        return any(real.is_relative_to(real_path(root)) for root in roots if root)


def _tell_bug(task: asyncio.Task[None]) -> None:
    """Log an unexpected exception of a check, with its traceback; the next change checks again."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("a check ended early", exc_info=error)


def diagnostic(problem: Problem, text: DocumentText) -> Any:
    """Return a problem as editors show it: message and hint, with its code."""
    from lsprotocol import types

    place = text.range_of(problem.span) if problem.span else (0, 0)
    is_error = problem.severity == "error"
    return types.Diagnostic(
        range=range_in(text, place),
        message=f"{problem.message}\nhint: {problem.hint}" if problem.hint else problem.message,
        severity=types.DiagnosticSeverity.Error if is_error else types.DiagnosticSeverity.Warning,
        code=problem.code,
        source="genie-dp",
    )


def range_in(text: DocumentText, place: Range) -> Any:
    """Return a piece of a text as editors name it."""
    from lsprotocol import types

    start, end = (types.Position(*text.position(offset)) for offset in place)
    return types.Range(start, end)


async def begin_progress(server: Any, title: str) -> Callable[[str], None]:
    """Show that work goes on; return the function that ends it, with a short message."""
    from lsprotocol import types

    window = server.client_capabilities.window
    if window is None or not window.work_done_progress:
        server.show_message_log(title)
        return server.show_message_log  # type: ignore[no-any-return]
    number = 1
    while (token := f"genie-dp-{number}") in server.progress.tokens:
        number += 1
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(server.progress.create_async(token), _PATIENCE)
    server.progress.begin(token, types.WorkDoneProgressBegin(title=title))
    return lambda done: server.progress.end(token, types.WorkDoneProgressEnd(message=done))
