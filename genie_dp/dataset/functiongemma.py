"""The text that FunctionGemma reads and writes.

Turns, declarations and calls are those of Google's "FunctionGemma formatting and best practices";
the order of keys, and the end of a turn that calls, are those of its notebook for Mobile Actions
(github.com/google-gemini/gemma-cookbook, FunctionGemma; both November 2026).
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

# Without that sentence the model does not call; it stands last, before the declarations.
_TRIGGER = "You are a model that can do function calling with the following functions"


def prompt_of(system: str, tools: Iterable[Mapping[str, Any]], sentence: str) -> str:
    """Return the turns of developer and user, up to where the model begins.

    Args:
        system: the text before the functions; "" for nothing.
        tools: each with `name`, `description` and `parameters`, a JSON Schema that stands alone.
    """
    system_text = f"{system}\n{_TRIGGER}" if system else _TRIGGER
    declared = "".join(map(declaration, tools))
    return (
        f"<bos><start_of_turn>developer\n{system_text}{declared}<end_of_turn>\n"
        f"<start_of_turn>user\n{sentence}<end_of_turn>\n<start_of_turn>model\n"
    )


def completion_of(calls: Iterable[tuple[str, Mapping[str, Any]]], answer: str) -> str:
    """Return the output of the model: calls, at whose end it waits for results, or an answer."""
    called = "".join(call_of(name, arguments) for name, arguments in calls)
    return f"{called}<start_function_response>" if called else f"{answer}<end_of_turn>\n"


def call_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call.

    >>> call_of("dim", {"lamp": "desk", "level": 40})
    '<start_function_call>call:dim{lamp:<escape>desk<escape>,level:40}<end_function_call>'
    """
    return f"<start_function_call>call:{word_of(name)}{_value(arguments)}<end_function_call>"


def word_of(name: str) -> str:
    """Return the name of a tool as one word: readers of calls take no hyphens.

    >>> word_of("org__coffee-machine__brew")
    'org__coffee_machine__brew'
    """
    return re.sub(r"\W", "_", name)


def declaration(tool: Mapping[str, Any]) -> str:
    """Return the declaration of a tool.

    >>> print(declaration({"name": "off", "description": "Go dark.", "parameters": {}}).replace(
    ...     "<escape>", "'"))
    <start_function_declaration>declaration:off{description:'Go dark.',parameters:{type:'OBJECT'}}\
<end_function_declaration>
    """
    parameters = _schema({**tool["parameters"], "type": "object"})
    declared = f"{{description:{_value(tool['description'])},parameters:{parameters}}}"
    return (
        f"<start_function_declaration>declaration:{word_of(tool['name'])}{declared}"
        "<end_function_declaration>"
    )


def _schema(schema: Mapping[str, Any]) -> str:
    """Return a JSON Schema as declarations have it; of alternatives it is the first.

    >>> _schema({"anyOf": [{"enum": ["kg"]}, {"type": "array"}]}).replace("<escape>", "'")
    "{enum:['kg'],type:'STRING'}"
    """
    schema = {**schema, **(schema["anyOf"][0] if "anyOf" in schema else {})}
    kind = schema.get("type", "object" if "properties" in schema else "string")
    parts = [f"{key}:{_value(schema[key])}" for key in ("description", "enum") if schema.get(key)]
    if "items" in schema:
        parts.append(f"items:{_schema(schema['items'])}")
    if properties := schema.get("properties"):
        of_names = (f"{name}:{_schema(part)}" for name, part in _in_order(properties))
        parts.append(f"properties:{{{','.join(of_names)}}}")
    if required := schema.get("required"):
        parts.append(f"required:{_value(required)}")
    return f"{{{','.join([*parts, f'type:{_value(kind.upper())}'])}}}"


def _value(value: Any) -> str:
    """Return a value: texts between marks, all else bare.

    >>> _value({"to": ["a", True], "at": 1.5})
    '{at:1.5,to:[<escape>a<escape>,true]}'
    """
    match value:
        case str():
            return f"<escape>{value}<escape>"
        case list():
            return f"[{','.join(map(_value, value))}]"
        case dict():
            return f"{{{','.join(f'{name}:{_value(item)}' for name, item in _in_order(value))}}}"
        case _:
            return json.dumps(value)


def _in_order(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(values.items(), key=lambda item: item[0].lower())
