"""The English of ThingTalk: phrases of its constructs, for descriptions where no template has one.

A phrase has its parts in braces, named after their contents.
"""

from collections.abc import Mapping

PHRASES: Mapping[str, str] = {
    # rules
    "stream alone": "notify me {when}",
    "query alone": "get {query}",
    "for each": "for {each}, {action}",
    "each result": "each result of {query}",
    "each of": "each of {query}",
    "each of the": "each of the {query}",
    "notify": "notify me",
    "but only if": "but only if {clauses}",
    "but only where": "but only where {clauses}",
    # queries
    "count": "the number of {query}",
    "sum": "the total {of}",
    "avg": "the average {of}",
    "max": "the largest {of}",
    "min": "the smallest {of}",
    "projection": "{outputs} of {query}",
    "projection of all": "{query}, each together with {outputs}",
    "sort": "{query} in the order of the {key}, {first} first",
    "slice": "{places} of {query}",
    "first place": "the first",
    "place": "number {first}",
    "first places": "the first {last}",
    "places": "numbers {first} to {last}",
    "join": "{left}, each together with {right}",
    "where": "where {clauses}",
    # computed values
    "distance": "the distance of {here} from {place}",
    "computed truth": 'the answer to "{output} {operator} {value}"',
    "of a list": "{list} where {condition}",
    # streams
    "attimer": "every day at {time}",
    "timer": "every {interval}",
    "timer to be asked for": "again and again, at an interval still to be asked for",
    "timer from": "{often} from {base} on",
    "monitor": "when there is {event}",
    "monitor of one": "when there is a change in {event}",
    "something new": "something new in {query}",
    "new value": "a new value of {outputs} in {query}",
    "new combination": "a new combination of {outputs} in {query}",
    "first time": "the first time only, {when}",
    "edge": "when it becomes true, for {event}, that {condition}",
    "edge of stream": "but only when it has become true that {condition}",
    "stream filter": "provided that {condition}",
    "stream join": "{when}, each time together with {query}",
    # policies
    "policy": "{who} may use {seen} to {does}",
    "policy of query": "{who} may see {seen}",
    "policy of action": "{who} may {does}",
    "policy of any query": "{who} may, using anything or nothing, {does}",
    "anyone": "anyone",
    "nobody": "nobody",
    "anyone but": "anyone but {who}",
    "anyone who": "anyone, as long as {condition},",
    "see anything": "anything",
    "see anything of skill": "anything from {skill}",
    "do anything": "do anything",
    "do anything of skill": "do anything using {skill}",
    # conditions
    "true": "anything matches",
    "false": "nothing ever matches",
    "not": "it is not so that {condition}",
    "flag": "{flag} is true",
    "flag off": "{flag} is false",
    "exists": "there is something in {query}",
    "exists no": "there is nothing in {query}",
    "some where": "among {query} there is at least one where {condition}",
    "none where": "among {query} there is none where {condition}",
    "within": "in {query}, {condition}",
    "not within": "it is not so that, in {query}, {condition}",
    # values
    "undefined": "a value still to be asked for",
    "undefined time": "a time still to be asked for",
    "event": "the text of the event",
    "same": "the same as {value}",
    "start": "the start of {day}",
    "time of day": "the time of day of {date}",
    "before": "{duration} before {date}",
    "after": "{duration} after {date}",
    "no items": "an empty list",
    # calls
    "with": "with {inputs}",
    "input": "the {input} set to {value}",
    "undefined input": "the {input} still to be asked for",
    "device": "on the device {attributes}",
    "device name": "named {value}",
    "device id": "with the id {value}",
    "device setting": "with the setting {name} {value}",
    # names of outputs
    "whether": "whether {clause}",
    "name of flag": 'flag "{name}"',
}


def say(phrase: str, **parts: str) -> str:
    """Return a phrase with its parts.

    >>> say("attimer", time="9 am")
    'every day at 9 am'
    """
    return PHRASES[phrase].format(**parts)


# ------------------------------------------------------------------------------- comparisons

Form = tuple[str, str]
"""A comparison and its negation; {is}, {do} and {s} agree with the field."""

_NUMBERS: Mapping[str, Form] = {
    "==": ("{field} {is} {value}", "{field} {is} not {value}"),
    ">": ("{field} {is} more than {value}", "{field} {is} not more than {value}"),
    "<": ("{field} {is} less than {value}", "{field} {is} not less than {value}"),
    ">=": ("{field} {is} at least {value}", "{field} {is} not at least {value}"),
    "<=": ("{field} {is} at most {value}", "{field} {is} not at most {value}"),
    "in_array": ("{field} {is} one of {value}", "{field} {is} none of {value}"),
}
_MOMENTS: Mapping[str, Form] = {
    "==": ("{field} {is} {value}", "{field} {is} not {value}"),
    ">": ("{field} {is} after {value}", "{field} {is} not after {value}"),
    "<": ("{field} {is} before {value}", "{field} {is} not before {value}"),
    ">=": ("{field} {is} on or after {value}", "{field} {is} not on or after {value}"),
    "<=": ("{field} {is} on or before {value}", "{field} {is} not on or before {value}"),
    "in_array": ("{field} {is} one of {value}", "{field} {is} none of {value}"),
}
_NAMES: Mapping[str, Form] = {
    "==": ("{field} {is} {value}", "{field} {is} not {value}"),
    "=~": ("{field} contain{s} {value}", "{field} {do} not contain {value}"),
    "~=": ("{field} {is} contained in {value}", "{field} {is} not contained in {value}"),
    "starts_with": ("{field} start{s} with {value}", "{field} {do} not start with {value}"),
    "ends_with": ("{field} end{s} with {value}", "{field} {do} not end with {value}"),
    "prefix_of": ("{value} starts with {field}", "{value} does not start with {field}"),
    "suffix_of": ("{value} ends with {field}", "{value} does not end with {field}"),
    "in_array": ("{field} {is} one of {value}", "{field} {is} none of {value}"),
    "in_array~": ("{field} contain{s} one of {value}", "{field} contain{s} none of {value}"),
}
_FEW: Mapping[str, Form] = {name: _NUMBERS[name] for name in ("==", "in_array")}

FORMS: Mapping[str, Mapping[str, Form]] = {
    "number": _NUMBERS,
    "measure": _NUMBERS,
    "currency": _NUMBERS,
    "date": _MOMENTS,
    "time": {
        **_MOMENTS,
        ">=": ("{field} {is} at or after {value}", "{field} {is} not at or after {value}"),
        "<=": ("{field} {is} at or before {value}", "{field} {is} not at or before {value}"),
    },
    "string": {
        **_NAMES,
        ">": ("{field} come{s} after {value} in the alphabet",
              "{field} {do} not come after {value} in the alphabet"),
        "<": ("{field} come{s} before {value} in the alphabet",
              "{field} {do} not come before {value} in the alphabet"),
        ">=": ("{field} {is} {value} or come{s} after it in the alphabet",
               "{field} {is} not {value} and {do} not come after it in the alphabet"),
        "<=": ("{field} {is} {value} or come{s} before it in the alphabet",
               "{field} {is} not {value} and {do} not come before it in the alphabet"),
    },
    "entity": _NAMES,
    "boolean": _FEW,
    "enum": _FEW,
    "location": _FEW,
    "array": {
        "in_array": ("{field} {is} one of the lists {value}",
                     "{field} {is} none of the lists {value}"),
        "==": ("{field} {is} exactly {value}", "{field} {is} not exactly {value}"),
        "contains": ("{value} is among {field}", "{value} is not among {field}"),
        "contains~": ("one of {field} contains {value}", "none of {field} contains {value}"),
    },
}  # fmt: skip
"""Sort of value -> operator -> how the comparison is said, and its negation."""

# ------------------------------------------------------------------------------------- words

# What a name is called that no function has.
NAMES = {"source": "person who asks", "count": "number", "sum": "total", "avg": "average",
         "max": "largest value", "min": "smallest value"}  # fmt: skip
# Sort of value -> what stands first in an order: ascending, descending.
FIRST = {"date": ("earliest", "latest"), "time": ("earliest", "latest"), "string": ("a", "z")}
BEGIN_WHEN = ("when ", "whenever ", "every ", "each ", "once ", "if ", "as soon as ", "any time ")
FLAGS = {"is": "is not", "has": "has no", "can": "cannot"}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")
