"""A client of the language server as an editor is one: that of pygls, over standard input."""

import asyncio
import sys
import time
from pathlib import Path
from types import SimpleNamespace

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import BaseLanguageClient

import genie_dp

PATIENCE = 90  # seconds; a shared machine may be slow
ROOT = Path(genie_dp.__file__).parent.parent


class EditorClient:
    """Opens, changes and asks as an editor does; each method waits for its answer."""

    def __init__(self, *, folder, progress=False, env=None):
        self.loop = asyncio.new_event_loop()
        self.client = BaseLanguageClient("test", "1")
        self.diagnostics = {}  # uri -> what is shown now
        self.progress = []
        self.versions = {}
        self._listen()
        self._run(self._start(folder, progress, env))

    def _listen(self):
        listen = self.client.feature
        listen(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(
            lambda shown: self.diagnostics.update({shown.uri: shown.diagnostics})
        )
        listen(types.PROGRESS)(lambda params: self.progress.append(params.value))
        for ignored in (
            types.WINDOW_LOG_MESSAGE,
            types.WINDOW_WORK_DONE_PROGRESS_CREATE,
            types.CLIENT_REGISTER_CAPABILITY,
        ):
            listen(ignored)(lambda params: None)

    async def _start(self, folder, progress, env):
        await self.client.start_io(
            sys.executable, "-c", "import sys; from genie_dp.cli import main; main(sys.argv[1:])",
            "grammar", "editor", env=env,
        )  # fmt: skip
        capabilities = types.ClientCapabilities(
            window=types.WindowClientCapabilities(work_done_progress=progress),
            workspace=types.WorkspaceClientCapabilities(
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
                    dynamic_registration=True
                )
            ),
        )
        self.server = await self.client.initialize_async(
            types.InitializeParams(capabilities=capabilities, root_uri=Path(folder).as_uri())
        )
        self.client.initialized(types.InitializedParams())

    def _run(self, future):
        return self.loop.run_until_complete(asyncio.wait_for(future, PATIENCE))

    def close(self):
        self._run(self.client.shutdown_async(None))
        self.client.exit(None)
        self._run(self.client.stop())
        self.loop.close()

    @property
    def pid(self):
        return self.client._server.pid

    # ------------------------------------------------------------------------- documents

    def open(self, path, text=None):
        uri = Path(path).as_uri()
        self.versions[uri] = 1
        text = Path(path).read_text(encoding="utf-8") if text is None else text
        language = "tt" if str(path).endswith(".tt") else "genie"
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, language, 1, text))
        )
        return uri

    def change(self, uri, text):
        self.versions[uri] += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangeEvent_Type2(text)],
            )
        )

    def save(self, uri):
        self.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    def shut(self, uri):
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
        )

    def changed_on_disk(self, *paths):
        changes = [types.FileEvent(Path(p).as_uri(), types.FileChangeType.Changed) for p in paths]
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))

    def until(self, is_so):
        """Wait until something is so, and return what it is."""
        end = time.monotonic() + PATIENCE
        while not (found := is_so()):
            assert time.monotonic() < end, "waited in vain"
            self._run(asyncio.sleep(0.002))
        return found

    def codes(self, uri):
        return [diagnostic.code for diagnostic in self.diagnostics.get(uri, ())]

    def all_codes(self):
        """Return (name of the file, code) of everything that is shown now."""
        return sorted(
            (Path(uri).name, diagnostic.code)
            for uri, shown in self.diagnostics.items()
            for diagnostic in shown
        )

    # --------------------------------------------------------------------------- requests

    def _ask(self, request, kind, uri, text, mark, **more):
        line, character = place(text, mark)
        identifier = types.TextDocumentIdentifier(uri)
        position = types.Position(line, character)
        try:
            return self._run(request(kind(identifier, position, **more)))
        except JsonRpcException as error:
            return SimpleNamespace(refused=error.message)

    def complete(self, uri, text, mark):
        """Return label -> item of what can be written behind the mark."""
        made = self._ask(
            self.client.text_document_completion_async, types.CompletionParams, uri, text, mark
        )
        return {item.label: item for item in made.items} if made else {}

    def hover(self, uri, text, mark):
        found = self._ask(self.client.text_document_hover_async, types.HoverParams, uri, text, mark)
        return found.contents.value if found else None

    def definition(self, uri, text, mark):
        """Return (name of the file, line from 1) of each place."""
        found = self._ask(
            self.client.text_document_definition_async, types.DefinitionParams, uri, text, mark
        )
        return named_lines(found)

    def references(self, uri, text, mark):
        context = types.ReferenceContext(include_declaration=True)
        line, character = place(text, mark)
        params = types.ReferenceParams(
            context, types.TextDocumentIdentifier(uri), types.Position(line, character)
        )
        return named_lines(self._run(self.client.text_document_references_async(params)))

    def rename(self, uri, text, mark, new_name):
        return self._ask(
            self.client.text_document_rename_async, types.RenameParams, uri, text, mark,
            new_name=new_name,
        )  # fmt: skip

    def prepare_rename(self, uri, text, mark):
        return self._ask(
            self.client.text_document_prepare_rename_async,
            types.PrepareRenameParams, uri, text, mark,
        )  # fmt: skip

    def format(self, uri):
        options = types.FormattingOptions(tab_size=2, insert_spaces=True)
        params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options)
        return self._run(self.client.text_document_formatting_async(params))


def place(text, mark):
    """Return line and character behind the first part of a mark "ab|cd" that is in a text."""
    before, bar, after = mark.partition("|")
    assert bar, mark
    assert text.count(before + after) >= 1, mark
    offset = text.index(before + after) + len(before)
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    return line, len(text[start:offset].encode("utf-16-le")) // 2


def named_lines(locations):
    return [(Path(found.uri).name, found.range.start.line + 1) for found in locations or ()]


def apply(edit, uri, text):
    """Return a text after the edits of a rename."""
    lines = text.split("\n")
    for change in sorted(edit.changes.get(uri, ()), key=lambda c: c.range.start, reverse=True):
        start, end = change.range.start, change.range.end
        line = lines[start.line]
        lines[start.line] = line[: start.character] + change.new_text + line[end.character :]
    return "\n".join(lines)
