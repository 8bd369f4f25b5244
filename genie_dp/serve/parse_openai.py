"""A parser behind OpenAI's chat completions: tool calls, or a text with the reason for none.

A request holds the whole conversation. A question of ours is known by its code at the end of a
message; the messages before it are parsed again, so that nothing is kept between requests.
"""

import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field, field_validator

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.calls.structure import with_results
from genie_dp.parser.answers import CONFIRM, MISSING_INPUT, Reply
from genie_dp.parser.forms import as_calls
from genie_dp.serve.gate import RequestGate
from genie_dp.serve.hosts import HostRule
from genie_dp.serve.parse_models import Names
from genie_dp.serve.parse_refusals import Refusal, make_refusal, of_status
from genie_dp.serve.parse_requests import (
    add_health,
    add_refusals,
    address_of,
    behind_gate,
    is_json,
    unless_gone,
)
from genie_dp.serve.parse_service import ParseService

_MOST_MESSAGES, _MOST_TOOLS = 2_000, 1_000
_MOST_QUESTIONS = 8  # that are followed back
_NOT_OFFERED, _NO_RESULT = "not_offered", "no_result"
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")  # what OpenAI allows in names of functions, turned round
_CHOICES = ("none", "auto", "required")
_FIELDS = "see chat completions in OpenAI's reference"
_TYPES = {429: "rate_limit_error", 404: "not_found_error"}


class CalledFunction(BaseModel):
    """The called function."""

    name: str


class MadeCall(BaseModel):
    """A call of an earlier answer."""

    id: str
    function: CalledFunction


class Message(BaseModel):
    """A message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str = ""
    tool_calls: list[MadeCall] | None = None
    tool_call_id: str | None = None

    @field_validator("content", mode="before")
    @classmethod
    def _join_parts(cls, content: Any) -> Any:
        """Return the text of parts; nothing else can be read."""
        if not isinstance(content, list):
            return "" if content is None else content
        texts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("only parts that are text can be read")
        return " ".join(map(str, texts))


class FunctionDefinition(BaseModel):
    """A function that may be called; only the names in it are looked at."""

    name: str
    parameters: dict[str, Any] | None = None


class ToolDefinition(BaseModel):
    """A tool that may be called."""

    type: Literal["function"]
    function: FunctionDefinition


class ChosenFunction(BaseModel):
    """The one function that may be called."""

    function: CalledFunction


class StreamOptions(BaseModel):
    """The end of a stream."""

    include_usage: bool = False


class ChatRequest(BaseModel):
    """A request for a chat completion. Fields that no parser has a use for are ignored."""

    model: str
    messages: list[Message] = Field(min_length=1, max_length=_MOST_MESSAGES)
    tools: list[ToolDefinition] | None = Field(
        None, max_length=_MOST_TOOLS, description="All that may be called; null for any function."
    )
    tool_choice: str | ChosenFunction = Field("auto", union_mode="left_to_right")
    parallel_tool_calls: bool = True
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: int = Field(1, ge=1, le=1, description="Answers: there is one.")
    names: Names | None = None

    @field_validator("tool_choice", "parallel_tool_calls", "stream", "n", mode="before")
    @classmethod
    def _null_is_left_out(cls, value: Any, info: Any) -> Any:
        return cls.model_fields[info.field_name].default if value is None else value

    @field_validator("tool_choice")
    @classmethod
    def _is_choice(cls, choice: str | ChosenFunction) -> str | ChosenFunction:
        if isinstance(choice, str) and choice not in _CHOICES:
            raise ValueError(f"expected one of {', '.join(_CHOICES)}, or a function")
        return choice

    @property
    def allowed_functions(self) -> Sequence[FunctionDefinition] | None:
        """Return the functions that may be called; None for any."""
        functions = None if self.tools is None else [tool.function for tool in self.tools]
        match self.tool_choice:
            case "none":
                return ()
            case ChosenFunction(function=chosen):
                if functions is None:
                    return [FunctionDefinition(name=chosen.name)]
                return [function for function in functions if function.name == chosen.name]
            case _:
                return functions


# ------------------------------------------------------------------------------ what was said


@dataclass(frozen=True, slots=True)
class Conversation:
    """The input of a parser from a request.

    Attributes:
        sentences: of the user, each the reply to the question before it; the last is answered.
        results: of the calls that were made for the last one, in their order.
    """

    sentences: tuple[str, ...]
    results: tuple[str, ...] = ()


def read_conversation(messages: Sequence[Message]) -> Conversation:
    """Return the sentences to answer.

    >>> said = [("user", "heat it"), ("assistant", "How much? [missing_input]"), ("user", "20")]
    >>> read_conversation([Message(role=role, content=text) for role, text in said]).sentences
    ('heat it', '20')

    Raises:
        RefusedError: W003, there is no sentence, or a call has no result.
    """
    last = max((i for i, m in enumerate(messages) if m.role == "user"), default=None)
    if last is None:
        raise _wrong("messages: there is none of a user", "send what the user says last")
    results = {m.tool_call_id: m.content for m in messages[last:] if m.role == "tool"}
    call_ids = [call.id for m in messages[last:] for call in m.tool_calls or ()]
    for id in call_ids:
        if id not in results:
            hint = "send a message of role tool for each call"
            raise _wrong(f"messages: call {id[:40]!r} has no result", hint)
    spoken = [m for m in messages[: last + 1] if m.role in ("user", "assistant")]
    sentences = [spoken.pop().content]
    while len(spoken) > 1 and len(sentences) <= _MOST_QUESTIONS and _asks(spoken[-1]):
        spoken.pop()
        if spoken[-1].role != "user":
            break
        sentences.append(spoken.pop().content)
    sentences.reverse()
    return Conversation(tuple(sentences), tuple(results[id] for id in call_ids))


def _asks(message: Message) -> bool:
    is_text = message.role == "assistant" and not message.tool_calls
    return is_text and message.content.rstrip().endswith(_ASKING)


def _with_code(text: str, code: str) -> str:
    return f"{text} [{code}]"


_ASKING = (_with_code("", MISSING_INPUT), _with_code("", CONFIRM))


def _wrong(message: str, hint: str) -> Exception:
    return make_refusal(422, "W003", message, hint)


# -------------------------------------------------------------------------------- the answer


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer: calls of tools, or a text.

    Attributes:
        calls: (name, arguments) of each.
        asked, said: counts of tokens that were read and written.
    """

    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    text: str = ""
    asked: int = 0
    said: int = 0
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))


async def complete(service: ParseService, request: ChatRequest, address: str) -> Completion:
    """Return the answer to a request.

    Raises:
        RefusedError, GenieError: as `ParseService.ask`; W003, messages that cannot be answered;
            W012, a model that there is not.
    """
    if request.model != service.config.model:
        message = f"there is no model {request.model[:80]!r} here"
        raise make_refusal(404, "W012", message, f"ask for {service.config.model!r}")
    conversation = read_conversation(request.messages)
    context: Reply | None = None
    prompt_tokens = 0
    for sentence in conversation.sentences:
        [reply] = await service.ask(
            [sentence], address=address, context=context, names=request.names
        )
        context = reply if reply.question else None
        prompt_tokens += len(reply.tokens)
    calls, text = _answer(reply, conversation.results, request)
    program = reply.program if calls else text
    return Completion(calls, text, prompt_tokens, len(program.split()))


_Calls = tuple[tuple[str, Mapping[str, Any]], ...]


def _answer(reply: Reply, results: Sequence[str], request: ChatRequest) -> tuple[_Calls, str]:
    """Return the calls to make now, or a text."""
    outcome = as_calls(reply)
    if outcome.refused:
        return (), _with_code(outcome.message, outcome.refused)
    remaining = outcome.value[len(results) :]
    if not remaining:
        # What was asked for is done: its results are all that there is to say.
        return (), "\n".join(results)
    calls = [call for call in remaining if call.get("step") == remaining[0].get("step")]
    if len(calls) > 1 and not request.parallel_tool_calls:
        calls = calls[:1]
    values = [_value(result) for result in results]
    offered: list[tuple[str, Mapping[str, Any]]] = []
    for call in calls:
        name = _name_offered(call, request.allowed_functions)
        if name is None:
            message = f"I understand this as a call that no tool of the request takes: {reply.code}"
            return (), _with_code(message, _NOT_OFFERED)
        try:
            offered.append((name, with_results(call["arguments"], values)))
        except GenieError as error:
            return (), _with_code(f"I cannot go on: {error.problems[0].message}", _NO_RESULT)
    return tuple(offered), ""


def _value(result: str) -> Any:
    try:
        return json.loads(result)
    except (ValueError, RecursionError):
        return result


def _name_offered(
    call: Mapping[str, Any], offered: Sequence[FunctionDefinition] | None
) -> str | None:
    """Return the name by which a request offers a call; None where it does not.

    OpenAI's names have no dots: "lights_set" is taken for "lights.set", too.

    >>> light = FunctionDefinition(name="lights_set")
    >>> _name_offered({"name": "@lights.set", "arguments": {}}, [light])
    'lights_set'
    """
    name = str(call["name"])
    if offered is None:
        return name
    plain = _NO_NAME.sub("_", name).strip("_")
    matches = [x for x in offered if x.name == name] or [
        x for x in offered if _NO_NAME.sub("_", x.name).strip("_") == plain
    ]
    for function in matches:
        parameters = (function.parameters or {}).get("properties")
        if not isinstance(parameters, dict) or call["arguments"].keys() <= parameters.keys():
            return function.name
    return None


# ------------------------------------------------------------------------------------- shapes


def shape_completion(completion: Completion, model: str) -> dict[str, Any]:
    """Return an answer in one piece, as OpenAI has it."""
    message: dict[str, Any] = {"role": "assistant", "content": completion.text or None}
    if completion.calls:
        message["tool_calls"] = [*_tool_calls(completion)]
    choice = {"message": message, "logprobs": None, "finish_reason": _reason(completion)}
    head = _head(completion, model, "chat.completion")
    return {**head, "choices": [{"index": 0, **choice}], "usage": _usage(completion)}


def stream_completion(completion: Completion, model: str, *, has_usage: bool) -> Iterator[str]:
    """Yield an answer as server-sent events."""
    head = _head(completion, model, "chat.completion.chunk")
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None if completion.calls else ""}
    ]
    if completion.calls:
        calls = enumerate(_tool_calls(completion))
        deltas += ({"tool_calls": [{"index": index, **call}]} for index, call in calls)
    else:
        deltas.append({"content": completion.text})
    ends: list[str | None] = [*(None for _ in deltas), _reason(completion)]
    for delta, reason in zip([*deltas, {}], ends, strict=True):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        yield _event({**head, "choices": [choice], **({"usage": None} if has_usage else {})})
    if has_usage:
        yield _event({**head, "choices": [], "usage": _usage(completion)})
    yield "data: [DONE]\n\n"


def _event(data: Mapping[str, Any]) -> str:
    return f"data: {json.dumps(data, ensure_ascii=True)}\n\n"


def _head(completion: Completion, model: str, kind: str) -> dict[str, Any]:
    return {"id": completion.id, "object": kind, "created": completion.created, "model": model}


def _tool_calls(completion: Completion) -> Iterator[dict[str, Any]]:
    for number, (name, arguments) in enumerate(completion.calls):
        text = json.dumps(arguments, ensure_ascii=False)
        id = f"call_{completion.id.rpartition('-')[2]}_{number}"
        yield {"id": id, "type": "function", "function": {"name": name, "arguments": text}}


def _reason(completion: Completion) -> str:
    return "tool_calls" if completion.calls else "stop"


def _usage(completion: Completion) -> dict[str, int]:
    read, written = completion.asked, completion.said
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def shape_error(refusal: Refusal) -> JSONResponse:
    """Return a refusal as OpenAI has it; message and hint are one text."""
    body = refusal.as_dict()
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    error = {
        "message": f"{body['message'].rstrip('.')}: {body['hint']}",
        "type": _TYPES.get(refusal.status, kind),
        "param": None,
        "code": body["code"],
    }
    return JSONResponse({"error": error}, refusal.status, refusal.headers)


# ------------------------------------------------------------------------------------ the app


def openai_app(service: ParseService, *, hosts: HostRule) -> RequestGate:
    """Return the app, behind its gate."""
    app = FastAPI(
        title="genie-dp chat completions", version=__version__, docs_url=None, redoc_url=None
    )
    model = service.config.model
    about = {"id": model, "object": "model", "created": int(time.time()), "owned_by": "genie-dp"}

    @app.post("/v1/chat/completions", dependencies=[Depends(is_json)])
    async def chat(chat_request: ChatRequest, request: Request) -> Response:
        """Answer the last message of a user with calls of tools, or with a text."""
        answer = complete(service, chat_request, address_of(request))
        completion = await unless_gone(request, service, answer)
        if not chat_request.stream:
            return JSONResponse(shape_completion(completion, model))
        options = chat_request.stream_options
        events = stream_completion(
            completion, model, has_usage=options is not None and options.include_usage
        )
        return StreamingResponse(events, media_type="text/event-stream")

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        return {"object": "list", "data": [about]}

    @app.get("/v1/models/{name}")
    async def one_model(name: str) -> dict[str, Any]:
        if name != model:
            message = f"there is no model {name[:80]!r} here"
            raise make_refusal(404, "W012", message, f"ask for {model!r}")
        return about

    add_health(app, service)
    add_refusals(app, service, lambda _, refusal: shape_error(_told_here(refusal)), hint=_FIELDS)

    def refuse(status: int, why: str) -> Response:
        return shape_error(_told_here(of_status(status, why)))

    return behind_gate(app, service, hosts, refuse)


def _told_here(refusal: Refusal) -> Refusal:
    """Return a refusal with hints that are right here: there is no page of the interface."""
    problem = refusal.problem
    hint = problem.hint or ""
    if hint.startswith("see /docs"):
        hint = "POST /v1/chat/completions and GET /v1/models are what there is"
    elif refusal.status == 400:
        hint = 'send JSON such as {"model": "..", "messages": [{"role": "user", "content": ".."}]}'
    return Refusal(refusal.status, Problem(problem.code, problem.message, hint=hint), refusal.wait)
