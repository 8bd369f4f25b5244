"""The page on which people write paraphrases, and the endpoint that looks at them meanwhile."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as AnyHTTPException

from genie_dp.paraphrase.checks import CheckConfig
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.resources import data_folder
from genie_dp.run.page import page_environment
from genie_dp.serve import writing
from genie_dp.serve.answer_store import AnswerStore
from genie_dp.serve.gate import Access, RequestGate
from genie_dp.serve.hosts import HostRule
from genie_dp.serve.identity import Signer, Visitor, new_visitor
from genie_dp.serve.page_requests import add_file, read_form

_MOST_FIELDS = 50  # of a form
_YEAR = 365 * 86400  # seconds that a cookie lasts
_NOT_SAVED = "This could not be saved. Your text is still here: send it again in a moment."
_NO_NAME = (
    f"Give a name of at most {writing.MOST_NAME} characters that begins with a letter or a digit."
)


@dataclass(frozen=True, slots=True)
class PageConfig:
    """How the page behaves.

    Attributes:
        people: how many workers get each task.
        worker: whose page it is; None to ask everybody for a name.
        checks: the limits of the checks.
        clock: seconds since 1970.
    """

    people: int = 3
    worker: str | None = None
    checks: CheckConfig = CheckConfig()
    clock: Callable[[], float] = time.time


class Draft(BaseModel):
    """Paraphrases of the sentence `key` that are still being written."""

    key: int = Field(ge=1, le=2**62)
    texts: list[Annotated[str, Field(max_length=10 * writing.MOST_CHARACTERS)]] = Field(
        max_length=20
    )


Form = Mapping[str, str]


async def _form(request: Request) -> Form:
    return await read_form(request, _MOST_FIELDS)


Fields = Annotated[Form, Depends(_form)]


class ParaphrasePages:
    """Answers requests from a store and the sentences."""

    def __init__(self, store: AnswerStore, rows: Mapping[str, ShownRow], config: PageConfig):
        self.store = store
        self.rows = rows
        self.config = config
        self.signer = Signer(store.secret)
        self.cookie = f"genie_{store.name}"

    # ------------------------------------------------------------------------ who is there

    def visitor(self, request: Request) -> Visitor:
        """Return the visitor of a request; a name given to the server counts for all visitors."""
        known_visitor = self.signer.visitor(request.cookies.get(self.cookie, "")) or new_visitor()
        return (
            known_visitor
            if self.config.worker is None
            else Visitor(known_visitor.mark, self.config.worker)
        )

    def sender(self, request: Request, token: str) -> Visitor:
        """Return who sends a form, or refuse one that no page of theirs had."""
        visitor = self.visitor(request)
        if not self.signer.is_form_token(visitor, token):
            raise HTTPException(403, "This page is too old: load it again.")
        return visitor

    def remember(self, response: Response, visitor: Visitor) -> Response:
        """Return a response that makes the browser remember the visitor."""
        value = self.signer.cookie(visitor)
        response.set_cookie(self.cookie, value, httponly=True, samesite="lax", max_age=_YEAR)
        return response

    # ------------------------------------------------------------------------------- pages

    def page(self, visitor: Visitor, view: str, *, status: int = 200, **values: object) -> Response:
        """Return the page in one of its views."""
        store, config = self.store, self.config
        progress = None
        if visitor.worker:
            progress = store.progress(visitor.worker, people=config.people, now=config.clock())
        content = _template().render(
            view=view,
            worker=visitor.worker,
            is_fixed=config.worker is not None,
            token=self.signer.form_token(visitor),
            progress=progress,
            paraphrases=store.sizes.paraphrases,
            most_characters=writing.MOST_CHARACTERS,
            most_name=writing.MOST_NAME,
            **values,
        )
        return self.remember(HTMLResponse(content, status), visitor)

    def start(self, visitor: Visitor) -> Response:
        """Return the page with the next step: asking for a name, a sentence, or the end."""
        if not visitor.worker:
            return self.page(visitor, "name", fault="")
        config = self.config
        key = self.store.next_for(visitor.worker, people=config.people, now=config.clock())
        return self.page(visitor, "done") if key is None else self.sentence(visitor, key)

    def sentence(
        self,
        visitor: Visitor,
        key: int,
        *,
        texts: Sequence[str] | None = None,
        remarks: Sequence[writing.Remarks] = (),
        notice: str = "",
        status: int = 200,
    ) -> Response:
        """Return the page with a sentence and its paraphrases."""
        row, before = self.sentence_of(visitor, key)
        count = self.store.sizes.paraphrases
        return self.page(
            visitor,
            "sentence",
            status=status,
            key=key,
            sentence=row.sentence,
            texts=_pad(before if texts is None else texts, count, ""),
            remarks=_pad(remarks, count, ()),
            notice=notice,
            is_mended=bool(before),
            draft=f"{self.cookie}:{visitor.worker}:{key}",
        )

    def sentence_of(self, visitor: Visitor, key: int) -> tuple[ShownRow, tuple[str, ...]]:
        """Return a sentence of the visitor's and their paraphrases."""
        record = self.store.sentence_of(visitor.worker, key) if visitor.worker else None
        if record is None:
            raise HTTPException(404, "This is none of your sentences.")
        return self.rows[record[0]], record[1]

    def answers(self, visitor: Visitor) -> Response:
        """Return the page with all answers and skipped sentences of the visitor."""
        if not visitor.worker:
            return RedirectResponse("/", 303)
        return self.page(visitor, "answers", answers=self.store.answers(visitor.worker))

    # ------------------------------------------------------------------------------- forms

    def enter(self, visitor: Visitor, typed: str) -> Response:
        """Take a name; a visitor with a known name goes on with its sentences."""
        name = writing.worker_name(typed)
        if name is None:
            return self.page(visitor, "name", fault=_NO_NAME, status=422)
        named_visitor = Visitor(visitor.mark, self.store.known_name(name))
        return self.remember(RedirectResponse("/", 303), named_visitor)

    def leave(self, visitor: Visitor) -> Response:
        """Forget the name."""
        return self.remember(RedirectResponse("/", 303), Visitor(visitor.mark))

    def send(self, visitor: Visitor, key: int, form: Form, *, wants_json: bool) -> Response:
        """Keep the paraphrases, or return the faults to mend first."""
        row, before = self.sentence_of(visitor, key)
        following = "/answers" if before else "/"
        is_skipped = form.get("action") == "skip"
        if is_skipped and before:
            # Another window sent an answer meanwhile: nobody wants to lose it.
            return _gone_on(following, wants_json=wants_json)
        texts = [
            "" if is_skipped else writing.clean_text(form.get(f"text{n + 1}", ""))
            for n in range(self.store.sizes.paraphrases)
        ]
        remarks = () if is_skipped else writing.remarks_of(row, texts, self.config.checks)
        notice = "Please mend what is marked." if writing.is_refused(remarks) else ""
        status = 422
        if not notice:
            texts_to_save = () if is_skipped else texts
            try:
                is_saved = self.store.save(
                    visitor.worker, key, texts_to_save, now=self.config.clock()
                )
            except sqlite3.OperationalError:
                # A full disk, or another program that holds the file: the writer keeps the text.
                is_saved = False
            notice = "" if is_saved else _NOT_SAVED
            status = 503
        if notice and wants_json:
            return JSONResponse({"notice": notice, "remarks": _plain(remarks)}, status)
        if notice:
            return self.sentence(
                visitor, key, texts=texts, remarks=remarks, notice=notice, status=status
            )
        return _gone_on(following, wants_json=wants_json)


def _gone_on(following: str, *, wants_json: bool) -> Response:
    return JSONResponse({"next": following}) if wants_json else RedirectResponse(following, 303)


def _pad(items: Sequence[Any], count: int, fill: object) -> list[Any]:
    return [*items[:count], *[fill] * (count - len(items))]


def _plain(remarks: Sequence[writing.Remarks]) -> list[list[dict[str, Any]]]:
    return [
        [{"message": r.message, "is_warning": r.is_warning} for r in row_remarks]
        for row_remarks in remarks
    ]


@cache
def _template() -> Any:
    return page_environment("genie_dp.serve").get_template("paraphrase.html.jinja")


# ----------------------------------------------------------------------------------- routes


def paraphrase_app(
    store: AnswerStore,
    rows: Mapping[str, ShownRow],
    config: PageConfig,
    *,
    hosts: HostRule,
    needs_token: bool = False,
) -> RequestGate:
    """Return the app, behind its gate.

    Args:
        rows: the sentences by their ids, all of the store.
        needs_token: whether only those get in who know the token of the store.
    """
    pages = ParaphrasePages(store, rows, config)
    # No pages about the endpoints: they would load scripts from elsewhere.
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _add_pages(app, pages)
    _add_forms(app, pages)
    folder = data_folder("serve/pages")
    for name, kind in (("paraphrase.css", "text/css"), ("paraphrase.js", "text/javascript")):
        add_file(app, f"/{name}", (folder / name).read_bytes(), kind)
    add_file(app, "/favicon.ico", b"", "image/x-icon")
    _add_refusals(app, pages)
    access = Access(pages.signer, f"{pages.cookie}_access") if needs_token else None
    return RequestGate(app, hosts=hosts, access=access)


def _wants_json(request: Request) -> bool:
    return "application/json" in request.headers.get("accept", "")


def _add_pages(app: FastAPI, pages: ParaphrasePages) -> None:
    @app.get("/")
    def start(request: Request) -> Response:
        return pages.start(pages.visitor(request))

    @app.get("/answers")
    def answers(request: Request) -> Response:
        return pages.answers(pages.visitor(request))

    @app.get("/sentences/{key}")
    def sentence(request: Request, key: int) -> Response:
        return pages.sentence(pages.visitor(request), _in_range(key))


def _add_forms(app: FastAPI, pages: ParaphrasePages) -> None:
    @app.post("/worker")
    def worker(request: Request, form: Fields) -> Response:
        visitor = pages.sender(request, form.get("token", ""))
        if pages.config.worker is not None:
            raise HTTPException(403, "This page has one name only.")
        if form.get("action") == "leave":
            return pages.leave(visitor)
        return pages.enter(visitor, form.get("name", ""))

    @app.post("/sentences/{key}")
    def send(request: Request, key: int, form: Fields) -> Response:
        visitor = pages.sender(request, form.get("token", ""))
        return pages.send(visitor, _in_range(key), form, wants_json=_wants_json(request))

    @app.post("/check")
    def check(request: Request, draft: Draft) -> Response:
        visitor = pages.sender(request, request.headers.get("x-form-token", ""))
        row, _ = pages.sentence_of(visitor, draft.key)
        texts = [writing.clean_text(text) for text in draft.texts[: pages.store.sizes.paraphrases]]
        remarks = writing.remarks_of(row, texts, pages.config.checks, is_draft=True)
        return JSONResponse({"remarks": _plain(remarks)})


def _add_refusals(app: FastAPI, pages: ParaphrasePages) -> None:
    @app.exception_handler(AnyHTTPException)
    def refuse(request: Request, error: AnyHTTPException) -> Response:
        if _wants_json(request):
            return JSONResponse({"notice": error.detail}, error.status_code)
        visitor = pages.visitor(request)
        return pages.page(visitor, "refused", status=error.status_code, why=error.detail)

    @app.exception_handler(sqlite3.OperationalError)
    def refuse_now(request: Request, error: sqlite3.OperationalError) -> Response:
        # Without the page: its progress would be asked of the same file.
        notice = "The answers cannot be reached just now. Nothing is lost: try again in a moment."
        if _wants_json(request):
            return JSONResponse({"notice": notice}, 503)
        return PlainTextResponse(notice, 503)

    @app.exception_handler(RequestValidationError)
    def refuse_shape(request: Request, error: RequestValidationError) -> Response:
        # Without what was sent: half a character in it could not be written.
        return refuse(request, AnyHTTPException(422, "This is no request that the page sends."))


def _in_range(key: int) -> int:
    # SQLite has no larger numbers.
    if not 0 < key < 2**63:
        raise HTTPException(404, "There is no such sentence.")
    return key
