"""The requests and replies of the parse service, as JSON; the page of the interface shows these."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from genie_dp.parser.answers import Answer, Reply
from genie_dp.parser.forms import FORMS, Outcome, in_form

MOST_SENTENCES = 32  # of a request
MOST_ANSWERS = 10  # to a sentence
MOST_NAMES, MOST_NAME = 500, 200  # of a caller, and characters of one
MOST_CHARACTERS = 8_000  # whatever --max-length is

_STRICT = ConfigDict(extra="forbid", strict=True)
Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME)]
Sentence = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]


def _check_number(names: dict[str, list[str]]) -> dict[str, list[str]]:
    if sum(map(len, names.values())) > MOST_NAMES:
        raise ValueError(f"give {MOST_NAMES} at most")
    return names


def _check_form(form: str) -> str:
    if form not in FORMS:
        raise ValueError(f"expected one of {', '.join(FORMS)}")
    return form


Names = Annotated[
    dict[str, list[Name]],
    AfterValidator(_check_number),
    Field(description=f"Kind of entity -> names of who asks, {MOST_NAMES} at most."),
]
Form = Annotated[str, AfterValidator(_check_form)]


class Context(BaseModel):
    """The reply whose question a sentence answers, as it was sent."""

    model_config = _STRICT

    program: str = Field(max_length=MOST_CHARACTERS, description="Token form of its program.")
    confidence: float = Field(ge=0, le=1, description="That of its program.")
    refused: Literal["missing_input", "confirm"] = Field(
        "missing_input", description="Its code: an input is asked for, or whether it is meant so."
    )

    def as_reply(self) -> Reply:
        """Return the reply, as far as a parser needs it."""
        return Reply("", (), (Answer(self.program, "", "", self.confidence),), self.refused)


class ParseOptions(BaseModel):
    """How sentences are to be parsed."""

    model_config = _STRICT

    count: int = Field(1, ge=1, le=MOST_ANSWERS, description="Programs for each, at most.")
    english: bool = Field(False, description="Whether to say each program in English, too.")
    context: Context | None = Field(None, description="The reply whose question is answered.")
    names: Names | None = None
    form: Form | None = Field(
        None,
        alias="as",
        description="Form in which the first program is said as well.",
        json_schema_extra={"enum": [*FORMS, None]},
    )


class SentenceQuery(ParseOptions):
    """One sentence to parse."""

    sentence: Sentence = Field(description="What somebody says.")


class Query(ParseOptions):
    """Sentences to parse: either one or several."""

    sentence: Sentence | None = Field(None, description="One sentence.")
    sentences: list[Sentence] | None = Field(
        None, min_length=1, max_length=MOST_SENTENCES, description="Several, in one go."
    )

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.sentence is None) == (self.sentences is None):
            raise ValueError("give either sentence or sentences")
        return self

    def all(self) -> tuple[str, ...]:
        """Return the sentences.

        >>> Query(sentence="list my files").all()
        ('list my files',)
        """
        return (self.sentence,) if self.sentence is not None else tuple(self.sentences or ())


class ParsedInput(BaseModel):
    """A required input that a program does not give."""

    model_config = _STRICT

    function: str = Field(description="Its qualified name.")
    name: str = Field(description="The input.")
    type: str = Field(description="What its values are.")
    question: str = Field(description="What asks for it.")


class ParsedAnswer(BaseModel):
    """A program for a sentence."""

    model_config = _STRICT

    program: str = Field(description="Its token form, with the values of the sentence.")
    code: str = Field(description="The same as people write it.")
    confidence: float = Field(description="Calibrated probability that it is right, 0 to 1.")
    unresolved: list[str] = Field(description="Names that are in no list of values.")
    unused: list[str] = Field(description="What the sentence says and the program does not.")
    missing: list[ParsedInput] = Field(description="Required inputs that it does not give.")
    tree: Any = Field(description="The whole program as JSON, see /schema.")
    calls: list[dict[str, Any]] | None = Field(
        description="The calls that it is, {name, arguments}; null where it is more."
    )
    by: str = Field(description="derived by templates, or learned by the network.")
    english: str | None = Field(None, description="What it does, if that was asked for.")


class ParsedReply(BaseModel):
    """The programs for a sentence, the most probable first."""

    model_config = _STRICT

    sentence: str = Field(description="As it was sent.")
    tokens: list[str] = Field(description="As it was read: words and placeholders.")
    is_known: bool = Field(description='False is "I do not know".')
    refused: str | None = Field(None, description="Why not: a code such as out_of_scope, unsure.")
    question: str = Field("", description="What is to be asked: for an input, or to be sure.")
    message: str = Field("", description="What to say to whoever asked, where it is refused.")
    answer: Any = Field(
        None, description="The first program in the form that `as` names; null where refused."
    )
    answers: list[ParsedAnswer]


class Replies(BaseModel):
    """A reply to each sentence, in their order."""

    model_config = _STRICT

    replies: list[ParsedReply]


class Counts(BaseModel):
    """The counts since the start. They contain no typed text."""

    model_config = _STRICT

    requests: int
    sentences: int
    known: int = Field(description="Sentences with an answer that is sure enough.")
    refused: int = Field(description="Requests that were not answered.")
    cancelled: int = Field(description="Requests whose sender went away.")
    batches: int = Field(description="Calls of the parser.")


class RequestLimits(BaseModel):
    """The limits of a request."""

    model_config = _STRICT

    sentences: int
    tokens: int = Field(description="Words and signs of a sentence.")
    characters: int = Field(description="Of a sentence.")
    answers: int = Field(description="To a sentence.")


class Health(BaseModel):
    """How the service is."""

    model_config = _STRICT

    ready: bool
    model: str
    version: str
    uptime: float = Field(description="Seconds.")
    waiting: int = Field(description="Sentences in the queue.")
    english: bool = Field(description="Whether programs can be said in English.")
    limits: RequestLimits
    counts: Counts


class Problem(BaseModel):
    """Why a request was not answered."""

    model_config = _STRICT

    code: str
    message: str
    hint: str


def shape_of(
    reply: Reply, english: tuple[str | None, ...] = (), form: str | None = None
) -> ParsedReply:
    """Return a reply as JSON has it.

    Args:
        english: the descriptions of programs; shorter where not requested.
        form: the further form of the first program; programs without it are refused.
    """
    outcome = in_form(reply, form) if form else Outcome(None, reply.refused, reply.message)
    padded = english + (None,) * (len(reply.answers) - len(english))
    return ParsedReply(
        sentence=reply.sentence,
        tokens=list(reply.tokens),
        is_known=outcome.refused is None,
        refused=outcome.refused,
        question=reply.ask((english and english[0]) or reply.code),
        message=outcome.message,
        answer=outcome.value,
        answers=[
            ParsedAnswer(
                program=answer.program,
                code=answer.code,
                confidence=answer.confidence,
                unresolved=list(answer.unresolved),
                unused=list(answer.unused),
                missing=[
                    ParsedInput(function=x.function, name=x.name, type=x.type, question=x.question)
                    for x in answer.missing
                ],
                tree=answer.tree,
                calls=answer.calls,
                by=answer.by,
                english=text,
            )
            for answer, text in zip(reply.answers, padded, strict=True)
        ],
    )
