"""The sentence in an answer of a model: models that chat add more than they were asked for.

Small instruct models introduce ("Sure! Here is a sentence:"), label ("Example:", "**Answer**:"),
comment ("(This is short)"), refuse, and copy lines of their prompt.
"""

import re
from collections.abc import Sequence

_QUOTES = ('""', "''", "“”", "‘’", "«»", "``")  # noqa: RUF001 - typographic ones are meant
# What opens a quotation wherever it stands: the others are apostrophes, too.
_CLOSING = {'"': '"', "“": "”", "«": "»"}
_BEHIND = re.compile(
    r"\s*[.,!?]?\s*(?:$|\(|[-–—]|(?:this|note|which|that)\b|is (?:a|an|one)\b|or\b)",  # noqa: RUF001
    re.IGNORECASE,
)
_LIST_MARK = re.compile(r"(?:\d{1,2}[.)]|[-*•])\s+")
_MARKUP = re.compile(r"\*\*|^#+\s+")
_LABEL = re.compile(
    r"(?:user|human|customer|person|assistant|sentence|example|answer|output|response|message|utterance"
    r"|paraphrased?|rephrased?|rewritten|variation)(?: (?:sentence|version|\d+))?\s*:\s*",
    re.IGNORECASE,
)
_EAGER = r"(?:sure(?: thing)?|certainly|of course|absolutely|great|okay|ok|no problem|got it)"
_ABOUT = (
    r"(?:sentences?|examples?|versions?|ways?|options?|messages?|ones?|utterances?|requests?"
    r"|possible|paraphrases?|rephras\w+|rewritten|variations?|words)"
)
# "Sure! Here is one sentence that says the same in other words:".
_INTRODUCTION = re.compile(
    rf"(?:{_EAGER}[!.,]*\s+)?(?:here|this|below|one)\b[^:\"]*\b{_ABOUT}\b[^:\"]*:\s*"
    rf"|{_EAGER}[!.,]+\s[^:\"]*\b{_ABOUT}\b[^:\"]*:\s*",
    re.IGNORECASE,
)
_EAGERNESS = re.compile(
    rf"{_EAGER}\s*[!.,]?$|{_EAGER}[!.,]+\s.*\b(?:i|i'll|i’ll|here|let)\b.*",  # noqa: RUF001
    re.IGNORECASE,
)
_COMMENT = re.compile(r"\s*\((?:note|this|i|the|[^()]*:)\s[^()]*\)\s*$", re.IGNORECASE)
_WRITES = r"(?:assist|help|fulfil|fulfill|provide|generate|comply|create|write)\b"
_REFUSAL = re.compile(
    rf"(?:(?:i'm |i am )?sorry|i apologi[sz]e|unfortunately)\b.*\b{_WRITES}"
    r"|(?:as|i'm|i am) an? (?:ai|(?:large )?language model)\b"
    rf"|i(?: can't| cannot| am unable to|'m unable to|'m not able to) {_WRITES}"
)
_FIELDS = re.compile(r"[^:;]+: [^;]+(?:; [^:;]+: [^;]+)*")


def read_answer(answer: str, asked: Sequence[str] = ()) -> str:
    """Return the first line of an answer that may be a sentence, without the chatter around it.

    Args:
        answer: as the model gave it.
        asked: the lines of its prompt: these are no answer, and their labels no part of one.

    >>> read_answer('Sure! Here is one:\\n\\n**"Wake me up"** (This is short.)')
    'Wake me up'
    >>> read_answer("What is known of it: intent: alarm", ["What is known of it: intent: alarm"])
    ''
    """
    lines = [line for text in answer.splitlines() if (line := _MARKUP.sub("", text).strip())]
    asked = [line.strip() for line in asked if line.strip()]
    labelled = [line.partition(":") for line in asked if ":" in line]
    contents = {_key(rest) for _, _, rest in labelled if _FIELDS.fullmatch(rest.strip())}
    of_metadata = tuple(
        f"{name}:".casefold() for name, _, rest in labelled if _FIELDS.fullmatch(rest.strip())
    )
    copied = {_key(line) for line in asked} | contents
    labels = sorted((f"{name}:" for name, _, _ in labelled), key=len, reverse=True)
    for place, line in enumerate(lines):
        is_last = place == len(lines) - 1
        # A line by itself may be a sentence of a user: "sure".
        if not is_last and (_INTRODUCTION.fullmatch(line) or _EAGERNESS.fullmatch(line)):
            continue
        if _REFUSAL.match(line.casefold().replace("’", "'")):  # noqa: RUF001
            return ""
        text = _inside(_bare(line, labels))
        is_copy = _key(line) in copied or _key(text) in copied
        if text and not is_copy and not line.casefold().startswith(of_metadata):
            return text
    return ""


def _bare(text: str, labels: Sequence[str]) -> str:
    """Return a line without marks, introductions and labels before it, and comments behind it."""
    text = _LIST_MARK.sub("", text, count=1)
    for pattern in (_INTRODUCTION, _LABEL):
        if match := pattern.match(text):
            text = text[match.end() :]
    label = next(
        (candidate for candidate in labels if text.casefold().startswith(candidate.casefold())), ""
    )
    return _COMMENT.sub("", text[len(label) :].strip())


def _inside(text: str) -> str:
    """Return the text within quotation marks, where a line begins with them."""
    while len(text) > 1 and text[0] + text[-1] in _QUOTES and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    if closing := _CLOSING.get(text[:1]):
        inside, _, behind = text[1:].partition(closing)
        if _BEHIND.match(behind):
            return inside.strip()
    return text


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
