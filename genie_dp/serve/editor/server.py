"""The language server: the requests of editors, by the protocol of pygls.

Requests wait until skills and templates were read once; then they are answered from the last state.
pygls is imported when a server is made.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.serve.editor.bench import EditorView
from genie_dp.serve.editor.complete import CompletionItem, Kind, complete
from genie_dp.serve.editor.navigate import (
    check_renamable,
    definitions,
    references,
    rename_category,
)
from genie_dp.serve.editor.places import DocumentText, path_of
from genie_dp.serve.editor.sessions import Editor, Session, range_in
from genie_dp.serve.editor.shown import Named, describe, named_at
from genie_dp.serve.editor.sources import FindProject
from genie_dp.templates.format import layout


def check_editor() -> None:
    """Raise GenieError (R071) where the library that speaks to editors is not installed."""
    try:
        import pygls
    except ImportError:
        hint = "pip install 'genie_dp[editor]'"
        message = "this needs pygls, which is not installed"
        raise GenieError(Problem("R071", message, hint=hint)) from None
    del pygls


def run(find_project: FindProject, *, tcp: int | None = None) -> None:
    """Answer an editor until it goes: over standard input and output, or at a port.

    Args:
        find_project: finds the project of a folder.
        tcp: the port; for inspecting the messages.

    Raises:
        GenieError: R071, pygls is not installed.
    """
    check_editor()
    server, editor = make_server(find_project)
    try:
        if tcp is None:
            server.start_io()
        else:
            server.start_tcp("127.0.0.1", tcp)
    finally:
        editor.stop()


# ------------------------------------------------------------------------------------ pygls


def make_server(find_project: FindProject) -> tuple[Any, Editor]:
    """Return a server of pygls that answers editors, and its state."""
    from lsprotocol import types
    from pygls.protocol import LanguageServerProtocol, default_converter
    from pygls.server import LanguageServer

    class Protocol(LanguageServerProtocol):
        """Shows a refusal as one; pygls takes all that a request raises for a bug of ours."""

        def _execute_request_callback(self, msg_id: Any, future: Any) -> None:
            error = None if future.cancelled() else future.exception()
            if not isinstance(error, GenieError):
                super()._execute_request_callback(msg_id, future)  # type: ignore[no-untyped-call]
                return
            self._request_futures.pop(msg_id, None)
            problem = error.problems[0]
            message = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
            self._send_response(msg_id, error=types.ResponseError(_REQUEST_FAILED, message))

    server = LanguageServer(
        "genie-dp",
        __version__,
        protocol_cls=Protocol,
        converter_factory=default_converter,
        # An editor that ends lines where Python does not cannot get out of step.
        text_document_sync_kind=types.TextDocumentSyncKind.Full,
    )
    editor = Editor(server, find_project)
    _serve_documents(server, editor)
    _serve_words(server, editor)
    _serve_edits(server, editor)
    return server, editor


def _serve_documents(server: Any, editor: Editor) -> None:
    from lsprotocol import types

    @server.feature(types.INITIALIZED)  # type: ignore[untyped-decorator]
    def watch(_: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched is None or not watched.dynamic_registration:
            return
        patterns = ("**/*.genie", "**/*.tt", "**/*.tsv", "**/*.yaml")
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
        request = await _read_request(editor, params)
        if request is None:
            return None
        text, offset = request.text, request.offset
        completions = complete(text.content, offset, request.view, is_skill=request.is_skill)
        place = range_in(text, (offset - len(completions.typed), offset))
        return types.CompletionList(
            is_incomplete=False, items=[completion_item(item, place) for item in completions.items]
        )

    @server.feature(types.TEXT_DOCUMENT_HOVER)  # type: ignore[untyped-decorator]
    async def hover(params: types.HoverParams) -> types.Hover | None:
        request = await _read_request(editor, params)
        if request is None:
            return None
        named = request.name_there
        description = describe(named, request.view) if named else None
        if named is None or description is None:
            return None
        content = types.MarkupContent(types.MarkupKind.Markdown, description)
        return types.Hover(content, range_in(request.text, named.place))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)  # type: ignore[untyped-decorator]
    async def definition(params: types.DefinitionParams) -> list[types.Location]:
        request = await _read_request(editor, params)
        if request is None:
            return []
        named, bench = request.name_there, request.session.bench
        file = str(path_of(params.text_document.uri))
        places = definitions(named, file, bench, request.view) if named else []
        return editor.locations(request.session, places)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)  # type: ignore[untyped-decorator]
    async def find_references(params: types.ReferenceParams) -> list[types.Location]:
        request = await _read_request(editor, params)
        if request is None:
            return []
        named, bench = request.name_there, request.session.bench
        places = references(named, bench, request.view) if named else ()
        return editor.locations(request.session, places)


def _serve_edits(server: Any, editor: Editor) -> None:
    from lsprotocol import types

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)  # type: ignore[untyped-decorator]
    async def prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        request = await _read_request(editor, params)
        if request is None:
            return None
        named = _exactly_named(request)
        if named is None:
            return None
        check_renamable(named, request.view)
        place: types.Range = range_in(request.text, named.place)
        return place

    @server.feature(  # type: ignore[untyped-decorator]
        types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True)
    )
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        request = await _read_request(editor, params)
        if request is None:
            return None
        session, named = request.session, _exactly_named(request)
        if named is None:
            return None
        places = rename_category(
            named, params.new_name, session.bench, request.view, is_writable=editor.is_writable
        )
        changes: dict[str, list[types.TextEdit]] = {}
        for location in editor.locations(session, places):
            edit = types.TextEdit(location.range, params.new_name)
            changes.setdefault(location.uri, []).append(edit)
        return types.WorkspaceEdit(changes=changes)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)  # type: ignore[untyped-decorator]
    def formatting(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        text = editor.text_of(params.text_document.uri)
        laid_out = format_document(text.content, params.text_document.uri)
        if laid_out == text.content:
            return []
        return [types.TextEdit(range_in(text, (0, len(text.content))), laid_out)]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The subject of a request.

    Attributes:
        offset: where in the text.
        is_skill: whether it is a skill.tt.
    """

    session: Session
    view: EditorView
    text: DocumentText
    offset: int
    is_skill: bool

    @property
    def name_there(self) -> Named | None:
        """Return the name there; None where there is none."""
        return named_at(self.text.content, self.offset, self.view, is_skill=self.is_skill)


def _exactly_named(asked: _Asked) -> Named | None:
    """Return it if the word is the very name: a child stands for its category, but is not it."""
    named = asked.name_there
    if named is None or asked.text.content[slice(*named.place)] != named.name:
        return None
    return named


async def _read_request(editor: Editor, params: Any) -> _Asked | None:
    """Return the subject of a request; None where nothing has been read yet."""
    uri = params.text_document.uri
    session = await editor.session_of(uri)
    view = session.bench.view if session is not None else None
    if session is None or view is None:
        return None
    text, is_skill = editor.text_of(uri), uri.endswith(".tt")
    offset = text.offset(params.position.line, params.position.character)
    return _Asked(session, view, text, offset, is_skill)


def completion_item(item: CompletionItem, place: Any) -> Any:
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


def format_document(text: str, file: str) -> str:
    """Return a template file as `genie-dp grammar format` lays it out, as it is with mistakes.

    Of skills only the spaces between lines and at their ends change.
    """
    if not file.endswith(".genie"):
        return format_text(text)
    try:
        return layout(text, file=file)
    except GenieError:
        return text


def format_text(text: str) -> str:
    r"""Return a text without spaces at ends of lines, with one empty line at most between others.

    It ends with one line end. Its contents do not change.

    >>> format_text("\n\nNP := 'a' -> b;  \n\n\n\nVP := 'c' -> d;")
    "NP := 'a' -> b;\n\nVP := 'c' -> d;\n"
    """
    lines = "\n".join(line.rstrip() for line in text.split("\n"))
    lines = re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
    return f"{lines}\n" if lines else ""
