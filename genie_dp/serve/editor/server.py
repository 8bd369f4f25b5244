"""The language server: what editors ask, answered from a Bench by the protocol of pygls.

The library is read, and changes are checked, in one thread beside the loop that answers. Requests
wait until skills and templates were read once; then they are answered from what was known last.
"""

import asyncio
import gc
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import genie_dp
from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.resources import data_folder
from genie_dp.run.cache import keep_pickled, load_pickled
from genie_dp.serve.editor.bench import Bench, Problems, Trial, View, real_path
from genie_dp.serve.editor.complete import Completion, Kind, complete
from genie_dp.serve.editor.layout import format_text
from genie_dp.serve.editor.navigate import (
    Place,
    check_renamable,
    definitions,
    references,
    rename_category,
)
from genie_dp.serve.editor.places import Range, Text, path_of
from genie_dp.serve.editor.shown import Named, describe, named_at
from genie_dp.serve.editor.sources import PROJECT_FILE, Found, ReadProject, Sources, find_sources
from genie_dp.synthesis.trials import TriedTemplates

DELAY = 0.06  # seconds of silence before what was typed is checked
_SUFFIXES = (".genie", ".tt")
_TRYING = "genie_dp.serve.editor.trying"


def check_editor() -> None:
    """Raise GenieError (R071) where the library that speaks to editors is not installed."""
    try:
        import pygls
    except ImportError:
        hint = "pip install 'genie_dp[editor]'"
        message = "this needs pygls, which is not installed"
        raise GenieError(Problem("R071", message, hint=hint)) from None
    del pygls


def run(read_project: ReadProject, *, tcp: int | None = None) -> None:
    """Answer an editor until it goes: over standard input and output, or at a port.

    Args:
        read_project: reads a genie.yaml.
        tcp: the port; for looking into what is said.

    Raises:
        GenieError: R071, pygls is not installed.
    """
    check_editor()
    server = make_server(read_project)
    if tcp is None:
        server.start_io()
    else:
        server.start_tcp("127.0.0.1", tcp)


class Session:
    """One bench, with what has to be done on it next.

    Attributes:
        ready: set once skills and templates were read.
        project: the genie.yaml that names them, and what is wrong with it.
    """

    def __init__(self, bench: Bench):
        """Start with nothing done."""
        self.bench = bench
        self.ready = asyncio.Event()
        self.project: Found | None = None
        self.wants_trial = True
        self.published: frozenset[str] = frozenset()
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

    def __init__(self, server: Any, read_project: ReadProject):
        """Start with nothing open."""
        self.server, self.read_project = server, read_project
        self.texts: dict[str, str] = {}
        self.uris: dict[str, str] = {}
        self.sessions: dict[Sources, Session] = {}
        self.of_document: dict[str, Session] = {}
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="check")

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
            self.schedule(self.of_document.pop(real), 0)
            self.uris.pop(real, None)

    def save(self, uri: str) -> None:
        """Check anew what a file belongs to, and try its templates."""
        session = self.of_document.get(real_path(path_of(uri) or uri))
        if session is not None:
            session.wants_trial = True
            self.schedule(session, 0)

    def changed_on_disk(self, uris: Iterable[str]) -> None:
        """Check all anew after files changed; a project file may have moved documents."""
        if any(uri.endswith(f"/{PROJECT_FILE}") for uri in uris):
            for real in list(self.of_document):
                self._join(Path(real))
        for session in {id(s): s for s in self.of_document.values()}.values():
            self.schedule(session, DELAY)

    def _join(self, document: Path) -> Session:
        """Return the session of a document, a new one where it is the first of its sources."""
        found = find_sources(document, self.read_project)
        session = self.sessions.get(found.sources)
        if session is None:
            session = self.sessions[found.sources] = Session(Bench(found.sources, self.texts))
        session.project = found
        self.of_document[real_path(document)] = session
        return session

    async def session_of(self, uri: str) -> Session | None:
        """Return the session of an open document, once it is ready."""
        session = self.of_document.get(real_path(path_of(uri) or uri))
        if session is not None:
            await session.ready.wait()
        return session

    # ------------------------------------------------------------------------------ checks

    def schedule(self, session: Session, delay: float) -> None:
        """Check after some silence; what is being checked now is then checked once more."""
        session.is_stale = True
        if session.timer is not None:
            session.timer.cancel()
        loop = asyncio.get_running_loop()
        session.timer = loop.call_later(delay, lambda: self._start(session))

    def _start(self, session: Session) -> None:
        if session.work is None or session.work.done():
            session.work = asyncio.ensure_future(self._check(session))

    async def _check(self, session: Session) -> None:
        is_first = not session.ready.is_set()
        if is_first:
            await self._tell_reading(session)
        else:
            await self._check_once(session)
        while session.is_stale:
            await self._check_once(session)
        if session.wants_trial:
            session.wants_trial = False
            self._try(session)

    async def _tell_reading(self, session: Session) -> None:
        """Read and check for the first time, and show that in the editor."""
        progress = await begin_progress(self.server, "Reading skills and templates")
        try:
            await self._check_once(session)
            session.bench.keep()
        finally:
            view = session.bench.view
            count = len(view.grammar.templates) if view else 0
            progress(f"{count:,} templates")
        # What was read stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()

    async def _check_once(self, session: Session) -> None:
        session.is_stale = False
        loop, bench = asyncio.get_running_loop(), session.bench
        problems = await loop.run_in_executor(
            self.thread,
            lambda: bench.check(when_read=lambda: _set(loop, session.ready)),
        )
        mine = [Path(real) for real, other in self.of_document.items() if other is session]
        if any([bench.add(document) for document in mine]):
            session.is_stale = True  # what nothing imports is read from now on
        self.publish(session, problems)
        session.ready.set()

    def publish(self, session: Session, problems: Problems) -> None:
        """Show all problems by file; what is open, or had any, is told that it has none."""
        from lsprotocol import types

        by_file: dict[str, list[Problem]] = {}
        for file, of_file in problems.items():
            by_file.setdefault(real_path(file or self._home(session)), []).extend(of_file)
        found = session.project
        if found is not None and found.project is not None and found.problems:
            by_file.setdefault(real_path(found.project), []).extend(found.problems)
        mine = {real for real, other in self.of_document.items() if other is session}
        for file in sorted(session.published | by_file.keys() | mine):
            text = Text(session.bench.source(file), self.encoding)
            shown = [diagnostic(problem, text) for problem in by_file.get(file, ())]
            params = types.PublishDiagnosticsParams(self.uri_of(file), shown)
            self.server.lsp.notify(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, params)
        session.published = frozenset(by_file)

    def _home(self, session: Session) -> str:
        """Return the file that shows problems without a place."""
        view = session.bench.view
        files = [*view.grammar.sources] if view else []
        return next(iter([*files, *map(str, session.bench.sources.grammar)]))

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
            tried = await _in_own_process(trial)
            if tried is not None and place is not None:
                keep_pickled(place, tried)
        if tried is not None:
            session.bench.take(tried, trial)
            self.schedule(session, 0)

    # ----------------------------------------------------------------------------- answers

    @property
    def encoding(self) -> str:
        """Return what the editor counts in a line."""
        return str(getattr(self.server.workspace.position_encoding, "value", "utf-16"))

    def uri_of(self, file: str) -> str:
        """Return how the editor calls a file."""
        return self.uris.get(real_path(file)) or Path(file).absolute().as_uri()

    def locations(self, session: Session, places: Iterable[Place]) -> list[Any]:
        """Return places as editors name them."""
        from lsprotocol import types

        texts: dict[str, Text] = {}
        found = []
        for file, place in places:
            if file not in texts:
                texts[file] = Text(session.bench.source(file), self.encoding)
            found.append(types.Location(self.uri_of(file), _range(texts[file], place)))
        return found

    def text_of(self, uri: str) -> Text:
        """Return the text of an open document."""
        return Text(self.texts[real_path(path_of(uri) or uri)], self.encoding)

    def is_writable(self, file: Path) -> bool:
        """Tell whether a file is the user's: not one that came with the package.

        In a checkout it is, once the editor has that folder open.
        """
        real = Path(real_path(file))
        shipped = [Path(real_path(data_folder(name))) for name in ("grammars", "thingpedia")]
        if not any(real.is_relative_to(folder) for folder in shipped):
            return True
        workspace = self.server.workspace
        roots = (path_of(uri) for uri in (*workspace.folders, workspace.root_uri or ""))
        return any(real.is_relative_to(real_path(root)) for root in roots if root)


def _set(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)


async def _in_own_process(trial: Trial) -> TriedTemplates | None:
    """Return what comes of a trial, made in a process that ends when this task is cancelled."""
    package = str(Path(genie_dp.__file__).parent.parent)
    places = [package, os.environ.get("PYTHONPATH", "")]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", _TRYING,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
    )  # fmt: skip
    try:
        output, _ = await process.communicate(await asyncio.to_thread(trial.input))
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return pickle.loads(output) if process.returncode == 0 else None


# ------------------------------------------------------------------------------------ pygls


def make_server(read_project: ReadProject) -> Any:
    """Return a server of pygls that answers what editors ask."""
    from lsprotocol import types
    from pygls.server import LanguageServer

    server = LanguageServer(
        "genie-dp",
        __version__,
        # An editor that ends lines where Python does not cannot get out of step.
        text_document_sync_kind=types.TextDocumentSyncKind.Full,
    )
    editor = Editor(server, read_project)
    _serve_documents(server, editor)
    _serve_words(server, editor)
    _serve_edits(server, editor)
    return server


def _serve_documents(server: Any, editor: Editor) -> None:
    from lsprotocol import types

    @server.feature(types.INITIALIZED)  # type: ignore[untyped-decorator]
    def watch(_: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched is None or not watched.dynamic_registration:
            return
        patterns = ("**/*.genie", "**/*.tt", "**/*.tsv", f"**/{PROJECT_FILE}")
        options = types.DidChangeWatchedFilesRegistrationOptions(
            [types.FileSystemWatcher(pattern) for pattern in patterns]
        )
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        server.register_capability(
            types.RegistrationParams([types.Registration("watch", method, options)])
        )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)  # type: ignore[untyped-decorator]
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        editor.open(params.text_document.uri, params.text_document.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)  # type: ignore[untyped-decorator]
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        editor.open(uri, server.workspace.get_text_document(uri).source)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)  # type: ignore[untyped-decorator]
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        editor.save(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)  # type: ignore[untyped-decorator]
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        editor.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)  # type: ignore[untyped-decorator]
    def changed_on_disk(params: types.DidChangeWatchedFilesParams) -> None:
        editor.changed_on_disk([change.uri for change in params.changes])


def _serve_words(server: Any, editor: Editor) -> None:
    from lsprotocol import types

    @server.feature(  # type: ignore[untyped-decorator]
        types.TEXT_DOCUMENT_COMPLETION,
        types.CompletionOptions(trigger_characters=list("@:.([=,")),
    )
    async def completion(params: types.CompletionParams) -> types.CompletionList | None:
        asked = await _asked(editor, params)
        if asked is None:
            return None
        _, view, text, offset, is_skill = asked
        made = complete(text.content, offset, view, is_skill=is_skill)
        place = _range(text, (offset - len(made.typed), offset))
        return types.CompletionList(
            is_incomplete=False, items=[completion_item(item, place) for item in made.items]
        )

    @server.feature(types.TEXT_DOCUMENT_HOVER)  # type: ignore[untyped-decorator]
    async def hover(params: types.HoverParams) -> types.Hover | None:
        asked = await _asked(editor, params)
        if asked is None:
            return None
        _, view, text, offset, is_skill = asked
        named = named_at(text.content, offset, view, is_skill=is_skill)
        shown = describe(named, view) if named else None
        if named is None or shown is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, shown)
        return types.Hover(content, _range(text, named.place))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)  # type: ignore[untyped-decorator]
    async def definition(params: types.DefinitionParams) -> list[types.Location]:
        asked = await _asked(editor, params)
        if asked is None:
            return []
        session, view, text, offset, is_skill = asked
        named = named_at(text.content, offset, view, is_skill=is_skill)
        file = str(path_of(params.text_document.uri))
        places = definitions(named, file, session.bench, view) if named else []
        return editor.locations(session, places)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)  # type: ignore[untyped-decorator]
    async def find_references(params: types.ReferenceParams) -> list[types.Location]:
        asked = await _asked(editor, params)
        if asked is None:
            return []
        session, view, text, offset, is_skill = asked
        named = named_at(text.content, offset, view, is_skill=is_skill)
        return editor.locations(session, references(named, session.bench, view) if named else ())


def _serve_edits(server: Any, editor: Editor) -> None:
    from lsprotocol import types

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)  # type: ignore[untyped-decorator]
    async def prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        asked = await _asked(editor, params)
        if asked is None:
            return None
        _, view, text, offset, is_skill = asked
        named = _exactly_named(named_at(text.content, offset, view, is_skill=is_skill), text)
        if named is None:
            return None
        _answer(lambda: check_renamable(named, view))
        return _range(text, named.place)

    @server.feature(  # type: ignore[untyped-decorator]
        types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True)
    )
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        asked = await _asked(editor, params)
        if asked is None:
            return None
        session, view, text, offset, is_skill = asked
        named = _exactly_named(named_at(text.content, offset, view, is_skill=is_skill), text)
        if named is None:
            return None
        places = _answer(
            lambda: rename_category(
                named, params.new_name, session.bench, view, is_writable=editor.is_writable
            )
        )
        changes: dict[str, list[types.TextEdit]] = {}
        for location in editor.locations(session, places):
            edit = types.TextEdit(location.range, params.new_name)
            changes.setdefault(location.uri, []).append(edit)
        return types.WorkspaceEdit(changes=changes)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)  # type: ignore[untyped-decorator]
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        text = editor.text_of(params.text_document.uri)
        laid_out = format_text(text.content)
        if laid_out == text.content:
            return []
        return [types.TextEdit(_range(text, (0, len(text.content))), laid_out)]


def _exactly_named(named: Named | None, text: Text) -> Named | None:
    """Return it if the word is the very name: a child stands for its category, but is not it."""
    if named is None or text.content[slice(*named.place)] != named.name:
        return None
    return named


def _answer(ask: Callable[[], Any]) -> Any:
    """Return what a function does; a refusal is shown to whoever asked."""
    from pygls.exceptions import JsonRpcException

    try:
        return ask()
    except GenieError as error:
        problem = error.problems[0]
        message = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
        raise JsonRpcException(message, code=_REQUEST_FAILED) from None


async def _asked(editor: Editor, params: Any) -> tuple[Session, View, Text, int, bool] | None:
    """Return what a request is about: the view, the text, the place, whether it is a skill.tt."""
    uri = params.text_document.uri
    session = await editor.session_of(uri)
    view = session.bench.view if session is not None else None
    if session is None or view is None:
        return None
    text = editor.text_of(uri)
    offset = text.offset(params.position.line, params.position.character)
    return session, view, text, offset, uri.endswith(".tt")


def diagnostic(problem: Problem, text: Text) -> Any:
    """Return a problem as editors show it: message and hint, with its code."""
    from lsprotocol import types

    place = text.range_of(problem.span) if problem.span else (0, 0)
    is_error = problem.severity == "error"
    return types.Diagnostic(
        range=_range(text, place),
        message=f"{problem.message}\nhint: {problem.hint}" if problem.hint else problem.message,
        severity=types.DiagnosticSeverity.Error if is_error else types.DiagnosticSeverity.Warning,
        code=problem.code,
        source="genie-dp",
    )


def completion_item(item: Completion, place: Any) -> Any:
    """Return a completion as editors show it."""
    from lsprotocol import types

    is_snippet = "$" in item.insert
    return types.CompletionItem(
        label=item.label,
        kind=types.CompletionItemKind[_KINDS[item.kind]],
        detail=item.detail or None,
        filter_text=item.label,
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else None,
        text_edit=types.TextEdit(place, item.insert or item.label),
    )


_KINDS: Mapping[Kind, str] = {
    "category": "Class", "class": "Module", "function": "Function", "parameter": "Field",
    "value": "EnumMember", "keyword": "Keyword", "child": "Variable", "type": "TypeParameter",
}  # fmt: skip
_REQUEST_FAILED = -32803  # LSP 3.17: the request was right, and cannot be done


def _range(text: Text, place: Range) -> Any:
    from lsprotocol import types

    start, end = (types.Position(*text.position(offset)) for offset in place)
    return types.Range(start, end)


async def begin_progress(server: Any, title: str) -> Callable[[str], None]:
    """Show that work goes on; return what ends that, with a word on what was done."""
    from lsprotocol import types

    window = server.client_capabilities.window
    if window is None or not window.work_done_progress:
        server.show_message_log(title)
        return server.show_message_log  # type: ignore[no-any-return]
    number = 1
    while (token := f"genie-dp-{number}") in server.progress.tokens:
        number += 1
    await server.progress.create_async(token)
    server.progress.begin(token, types.WorkDoneProgressBegin(title=title))
    return lambda done: server.progress.end(token, types.WorkDoneProgressEnd(message=done))
