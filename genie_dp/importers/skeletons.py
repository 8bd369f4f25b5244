"""Skeletons of a project, a skill, a grammar that work at once (`genie-dp new`).

In their texts @NAME@ and @WORDS@ stand for the new thing.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.run.files import named_trouble
from genie_dp.run.stage import Result
from genie_dp.skills.model import last_name

_PART = re.compile(r"[a-z][a-z0-9_-]*")
_FUNCTION = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")

_CLASS = """\
// @WORDS@: what the assistant can do there. docs/skills.md says how to write this file.
class @@NAME@
  #_[canonical="@WORDS@"]
  #[doc="Notes kept in @WORDS@."] {

  entity note #_[canonical="note"];

  monitorable list query notes(
    out note : Entity(@NAME@:note) #[unique=true]
      #_[canonical={base=["name"], plural=["names"]}],
    out text : String #[string_values="@NAME@:text"]
      #_[canonical={base=["text"], plural=["texts"], verb=["{mentions/mention} #"]}],
    out date : Date
      #_[canonical={base=["date"], plural=["dates"], passive_verb=["written on #"],
                    after=["written after #"], before=["written before #"]}],
    out word_count : Number
      #_[canonical={base=["number of words"], plural=["numbers of words"], property=["# words"],
                    more=["longer than # words"], less=["shorter than # words"]}])
    #_[canonical="@WORDS@ note"]
    #_[confirmation="your notes in @WORDS@"]
    #[doc="Lists your notes."];

  action add_note(
    in req text : String #[string_values="@NAME@:text"]
      #_[canonical={base=["text"]}]
      #_[prompt="What should the note say?"],
    in opt day : Date
      #_[canonical={base=["day"], adverb=["for #"]}]
      #_[prompt="For which day?"])
    #_[canonical="add a @WORDS@ note"]
    #_[confirmation="add the note $text to @WORDS@"]
    #[doc="Writes a note."];

  action delete_note(
    in req note : Entity(@NAME@:note)
      #_[canonical={base=["note"]}]
      #_[prompt="Which note should I delete?"])
    #_[canonical="delete a @WORDS@ note"]
    #_[confirmation="delete the note $note from @WORDS@"]
    #[doc="Deletes a note."];
}
"""

_PRIMITIVES = """\
// How people speak of each function of @WORDS@: NP, QVP and WP for queries, VP for actions.

for @@NAME@;

NP := ('my' | 'the') '@WORDS@ notes' -> notes();
NP := ('the' | 'all')? 'notes in my @WORDS@' -> notes();
NP := ('everything' | 'all that is' | 'what is written') 'in my @WORDS@' -> notes();
NP := '@WORDS@ notes' ('about' | 'on') '${t:const}' -> notes() filter text =~ $t;
NP := 'what my @WORDS@ says about ${t:const}' -> notes() filter text =~ $t;
QVP := ('look through' | 'read' | 'open' | 'show') 'my @WORDS@' ('notes')? -> notes();
COMMAND := ('what is in' | 'what did i write in' | 'what does it say in') 'my @WORDS@'
  -> now => notes() => notify;
COMMAND := ('did i write' | 'is there') ('anything' | 'something') ('about' | 'on')
  '${t:const} in my @WORDS@'
  -> now => notes() filter text =~ $t => notify;
WP := 'when i write a @WORDS@ note' -> monitor (notes());
WP := 'when a note is added to my @WORDS@' -> monitor (notes());
WP := 'when there is something new in my @WORDS@' -> monitor (notes());
VP := ('add' | 'put' | 'write') '$t' ('to' | 'in' | 'into') 'my @WORDS@' ('notes')?
  -> add_note(text = $t);
VP := ('make a' | 'add a') '@WORDS@ note' ('saying' | 'that')? '$t' -> add_note(text = $t);
VP := ('write' | 'note') ('down')? 'in my @WORDS@' ('that')? '$t' -> add_note(text = $t);
VP := ('delete' | 'remove' | 'erase' | 'take') '$n' ('from' | 'out of') 'my @WORDS@'
  -> delete_note(note = $n);
VP := ('throw away' | 'get rid of' | 'delete') 'the @WORDS@ note ${n:const}'
  -> delete_note(note = $n);
"""

_NOTES = """\
value\tweight
shopping list\t2
ideas for the garden\t1
birthday presents\t1
books to read\t1
"""

_TEXTS = """\
value\tweight
buy milk and eggs\t2
water the plants\t1
call the plumber\t1
the train leaves at nine\t1
"""

# What people might say, thought up apart from the templates.
_EVAL = """\
utterance\tprogram
what have i written in my @WORDS@\tnow => @@NAME@.notes() => notify
please read me my whole @WORDS@\tnow => @@NAME@.notes() => notify
does my @WORDS@ have any notes about lunch\tnow => (@@NAME@.notes()) filter text =~ "lunch" => notify
which of my @WORDS@ notes talk about holidays\tnow => (@@NAME@.notes()) filter text =~ "holidays" => notify
which notes in my @WORDS@ have more than 100 words\tnow => (@@NAME@.notes()) filter word_count > 100 => notify
how many notes do i have in my @WORDS@\tnow => agg count of (@@NAME@.notes()) => notify
let me know when somebody writes something new in my @WORDS@\tmonitor (@@NAME@.notes()) => notify
can you put wash the car down in my @WORDS@\tnow => @@NAME@.add_note(text = "wash the car")
i would like you to write pay the rent in my @WORDS@\tnow => @@NAME@.add_note(text = "pay the rent")
add to my @WORDS@ that the cat is ill\tnow => @@NAME@.add_note(text = "the cat is ill")
new @WORDS@ note : ask mum about the garden\tnow => @@NAME@.add_note(text = "ask mum about the garden")
please erase birthday presents from the @WORDS@\tnow => @@NAME@.delete_note(note = "birthday presents"^^@NAME@:note)
i do not need the shopping list in my @WORDS@ any more\tnow => @@NAME@.delete_note(note = "shopping list"^^@NAME@:note)
"""  # noqa: E501

# What people say, in words that the templates have not; it is learned, and never measured with.
_PARAPHRASES = """\
utterance\tprogram
read me my @WORDS@\tnow => @@NAME@.notes() => notify
my @WORDS@ please, all of it\tnow => @@NAME@.notes() => notify
anything about dinner in the @WORDS@\tnow => (@@NAME@.notes()) filter text =~ "dinner" => notify
find the @WORDS@ notes that mention paris\tnow => (@@NAME@.notes()) filter text =~ "paris" => notify
how much is there in my @WORDS@ by now\tnow => agg count of (@@NAME@.notes()) => notify
tell me as soon as my @WORDS@ has something new\tmonitor (@@NAME@.notes()) => notify
@WORDS@, feed the fish\tnow => @@NAME@.add_note(text = "feed the fish")
jot down return the ladder in the @WORDS@\tnow => @@NAME@.add_note(text = "return the ladder")
print my @WORDS@\tout_of_scope
the ideas for the garden can go from my @WORDS@\tnow => @@NAME@.delete_note(note = "ideas for the garden"^^@NAME@:note)
"""  # noqa: E501

_GRAMMAR = """\
// Construct templates: how the phrases of skills combine to sentences (docs/templates.md).

category COMMAND : program root "whole sentences";
category NP : query "noun phrases: what one can get";
category QVP : query "verb phrases that get something";
category WP : stream "when phrases";
category VP : action "verb phrases that do something";
category PRED : predicate "what stands after a noun phrase";
category SOURCE : source "an output of a query, to be passed on";

COMMAND := 'get' q:NP -> now => q => notify;
COMMAND := 'show me' q:NP -> now => q => notify;
COMMAND := q:QVP -> now => q => notify;
COMMAND := a:VP -> now => a;
COMMAND := 'notify me' s:WP -> s => notify;
COMMAND := s:WP ',' a:VP -> s => a;
COMMAND := a:VP[gap=o:SOURCE] -> now => o => a(o) if a.gap == o.key;

SOURCE := 'the' o:OUTPUT[pos=base] 'of' q:NP -> q.o if o.function == q.function;

VP := a:VP p:INPUT[pos=adverb, gap=v:VALUE] -> a(p = v)
  if p.function == a.function and p.type == v.type and p.name not in a.inputs
  and not a.ends_in_text;

NP := q:NP p:PRED -> q filter p if p.function == q.function;
PRED := p:OUTPUT[pos=passive_verb, gap=v:VALUE] -> p == v if p.type == v.type;
PRED := 'with' p:OUTPUT[pos=property, gap=v:VALUE] -> p == v if p.type == v.type;
PRED := p:OUTPUT[pos=more, gap=v:VALUE] -> p > v if p.type == v.type;
PRED := p:OUTPUT[pos=less, gap=v:VALUE] -> p < v if p.type == v.type;
"""

# A new project has no such templates; the skills that come with genie-dp do.
_FACTS = """
category FACT : source "an output in a skill's own words: the temperature in paris";
SOURCE := o:FACT -> o;

category REACHED : source "who is reached by a name alone, as 'paul' in: email paul";
COMMAND := a:VP[gap=o:REACHED] -> now => o => a(o) if a.gap == o.key;
"""

_PROJECT = """\
# yaml-language-server: $schema=genie.schema.json
# What is made of the skills, in order: `genie-dp run`. docs/projects.md has all settings.
skills: skills
output: build
jobs: 2
stages:
  pairs: {synthesize: {size: 3000, max_depth: 3, seed: 1}}
  paraphrases: {paraphrase: {number: 1, seed: 1}, of: pairs}
  rows:
    # Texts and names of all kinds, for a parser that copies what is said.
    augment: {general: 0.7, quoted: 0.02, paraphrase_with_text: 3, paraphrase_other: 1, seed: 1}
    of: [pairs, paraphrases]
  parser: {train: {steps: 100, seed: 1}, of: rows}
  result: {evaluate: , of: parser}
"""

_README = """\
# @NAME@

`skills/` is what the assistant can do and how people speak of it, `genie.yaml` what is made of it:

    genie-dp check                                 # what is wrong, and what is missing
    genie-dp run                                   # a parser in build/parser, and how good it is
    genie-dp parse "@WORDS@"
    genie-dp run --watch                           # edit skills/*/templates.genie meanwhile
    genie-dp new skill com.example.calendar --in skills
"""

# A skill of named functions: its class, and what each query and each action adds to each file.
_NAMED_CLASS = """\
// @WORDS@: what the assistant can do there. docs/skills.md says how to write this file.
class @@NAME@ #_[canonical="@WORDS@"] {
@ENTITIES@

@FUNCTIONS@
}
"""
_NAMED_TEMPLATES = """\
// How people speak of each function of @WORDS@: NP, QVP and WP for queries, VP for actions.

for @@NAME@;

"""
_QUERY = {
    "skill.tt": """\
  monitorable list query @FUNCTION@(
    out @ID@ : Entity(@NAME@:@ID@) #[unique=true]
      #_[canonical={base=["name"], plural=["names"]}])
    #_[canonical="@ONE@"] #_[confirmation="your @MANY@"];""",
    "templates.genie": """\
NP := ('my' | 'all my' | 'the') '@MANY@' -> @FUNCTION@();
QVP := ('check' | 'look up' | 'go through') 'my @MANY@' -> @FUNCTION@();
WP := ('when i get' | 'when there is') 'a new @ONE@' -> monitor (@FUNCTION@());
""",
    "eval.tsv": "which @MANY@ are there\tnow => @@NAME@.@FUNCTION@() => notify\n",
}
_ACTION = {
    "skill.tt": """\
  action @FUNCTION@(
    in req @ID@ : Entity(@NAME@:@ID@)
      #_[canonical={base=["@ONE@"]}] #_[prompt="Which @ONE@?"])
    #_[canonical="@VERB@ @A_ONE@"] #_[confirmation="@VERB@ $@ID@"];""",
    "templates.genie": """\
VP := '@VERB@ $x' -> @FUNCTION@(@ID@ = $x);
VP := '@VERB@' ('the' | 'my') '@ONE@ ${x:const}' -> @FUNCTION@(@ID@ = $x);
""",
    "eval.tsv": """\
could you @VERB@ sunrise for me\tnow => @@NAME@.@FUNCTION@(@ID@ = "sunrise"^^@NAME@:@ID@)
""",
}
_PLAIN_ACTION = {
    "skill.tt": """\
  action @FUNCTION@()
    #_[canonical="@VERB@"] #_[confirmation="@VERB@"];""",
    "templates.genie": """\
VP := '@VERB@' ('now')? -> @FUNCTION@();
VP := 'go ahead and @VERB@' -> @FUNCTION@();
""",
    "eval.tsv": "could you @VERB@ for me\tnow => @@NAME@.@FUNCTION@()\n",
}
_ALL_OF_THEM = frozenset(("all", "everything"))
# Words that begin something else in bodies of templates, or can name no parameter (T034).
_TAKEN = frozenset(
    ("agg", "attimer", "contains", "edge", "enum", "false", "monitor", "not", "notify", "now",
     "null", "timer", "true")
)  # fmt: skip


# ----------------------------------------------------------------------------------------- stage


@dataclass(frozen=True, slots=True)
class Skeleton(Result):
    """A folder that was written, the commands to go on with, and notes of what was guessed."""

    folder: Path
    commands: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        if self.notes:
            copied = [note for note in self.notes if "copied" in note]
            yield from copied
            yield f"read {self.folder / 'REVIEW.md'}: {len(self.notes)} notes of what was guessed"
        yield f"wrote {self.folder}; go on with"
        for command in self.commands:
            yield f"  {command}"


def new_project(
    name: str,
    parent: Path = Path(),
    *,
    functions: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
) -> Skeleton:
    """Write a project on the shipped grammar: one skill, genie.yaml, a README with the commands.

    Args:
        name: of the project, and its folder.
        parent: the folder to put it in.
        functions: names of what the skill can do, such as "loans" and "renew_loan"; without any, it
            is a diary that shows how a skill is written.
        files: what else is to lie in it, such as a schema for editors.

    Raises:
        GenieError: a name will not do (R031), or the folder exists (R032).
    """
    target = parent / _checked_name(name, "project", dots=False)
    skill, asked = "com.example.diary", "add buy milk to my diary"
    made = skill_files(skill, "diary")
    if functions:
        skill = f"com.example.{name}"
        made, asked = named_skill_files(skill, name.replace("_", " ").replace("-", " "), functions)
    contents = {
        "README.md": _fill(_README, name, asked),
        "genie.yaml": _PROJECT,
        **{f"skills/{skill}/{path}": text for path, text in made.items()},
        **(files or {}),
    }
    write_files(target, contents)
    check = ("genie-dp check",) if functions else ()
    return Skeleton(target, (f"cd {target}", *check, "genie-dp run", f'genie-dp parse "{asked}"'))


def new_skill(name: str, parent: Path = Path("thingpedia")) -> Skeleton:
    """Write a skill: its class, templates and values.

    Args:
        name: of the class, and the skill's folder.
        parent: the folder of skills to put it in.

    Raises:
        GenieError: the name will not do (R031), or the folder exists (R032).
    """
    target = parent / _checked_name(name, "skill", dots=True)
    write_files(target, skill_files(name, last_name(name)))
    return _checked_by(target, f"--skills {target}")


def new_table_skill(
    name: str,
    source: Path,
    parent: Path = Path("thingpedia"),
    *,
    tables: Sequence[str] = (),
    values: Sequence[str] = (),
) -> Skeleton:
    """Write a skill whose queries are tables of data, with REVIEW.md for what was guessed.

    Args:
        name: of the class, and the skill's folder.
        source: a file of `data_tables.read_tables`.
        parent: the folder of skills to put it in.
        tables: those of the source that are taken; empty for all.
        values: columns whose values are copied to lists, "all" or "none"; empty for names and
            short texts.

    Raises:
        GenieError: the name will not do (R031), the folder exists (R032), or of the source (R090
            to R093).
    """
    from genie_dp.importers.data_types import read_tables
    from genie_dp.importers.table_skill import skill_of_tables

    target = parent / _checked_name(name, "skill", dots=True)
    made = skill_of_tables(name, read_tables(source, tables), source, values)
    write_files(target, made.files)
    options = f"--skills {target} --grammar shipped/answers.genie"
    shown = f"genie-dp synthesize {options} --subset tables --preview 2"
    return Skeleton(target, (f"genie-dp check {options}", shown), tuple(made.notes))


def new_grammar(name: str, parent: Path = Path("grammars")) -> Skeleton:
    """Write a grammar: a root category and a few construct templates.

    Args:
        name: of its folder.
        parent: the folder of grammars to put it in.

    Raises:
        GenieError: the name will not do (R031), or the folder exists (R032).
    """
    target = parent / _checked_name(name, "grammar", dots=False)
    write_files(target, {"main.genie": grammar_text()})
    return _checked_by(target, f"--grammar {target}")


def _checked_by(target: Path, options: str) -> Skeleton:
    commands = f"genie-dp check {options}", f"genie-dp synthesize {options} --preview 2"
    return Skeleton(target, commands)


def skill_files(name: str, words: str) -> Mapping[str, str]:
    """Return path -> text of a new skill.

    >>> sorted(skill_files("com.example.diary", "diary"))  # doctest: +NORMALIZE_WHITESPACE
    ['eval.tsv', 'paraphrases.tsv', 'skill.tt', 'templates.genie', 'values/note.tsv',
     'values/text.tsv']
    """
    return {
        "skill.tt": _fill(_CLASS, name, words),
        "templates.genie": _fill(_PRIMITIVES, name, words),
        "eval.tsv": _fill(_EVAL, name, words),
        "paraphrases.tsv": _fill(_PARAPHRASES, name, words),
        "values/note.tsv": _NOTES,
        "values/text.tsv": _TEXTS,
    }


def named_skill_files(
    name: str, words: str, functions: Sequence[str]
) -> tuple[Mapping[str, str], str]:
    """Return path -> text of a new skill with functions of these names, and a sentence of it.

    A name that begins with a verb is an action, on a thing of that kind if the verb makes none;
    what is got or looked for, and any other name, is a query. Lists of values are still to be
    written: `check` asks for them.

    Raises:
        GenieError: a name will not do, or is given twice (R031).

    >>> files, sentence = named_skill_files("com.x", "x", ["fines", "pay_fine", "open_account"])
    >>> sentence, [line for line in files["templates.genie"].splitlines() if line[:2] == "VP"][:2]
    ('check my fines', ["VP := 'pay $x' -> pay_fine(fine = $x);", \
"VP := 'pay' ('the' | 'my') 'fine ${x:const}' -> pay_fine(fine = $x);"])
    """
    from genie_dp.english import forms as english
    from genie_dp.templates import cold_words
    from genie_dp.templates.cold_start import wording_of_name

    entities: dict[str, None] = {}
    parts: dict[str, list[str]] = {path: [] for path in _QUERY}
    sentences = []
    for number, function in enumerate(functions):
        _check_function(function, functions[:number])
        first, *others = function.split("_")
        wording = wording_of_name(function, "")
        verb = wording.verb if wording and wording.origin != "noun" else ""
        if not verb and english.is_only_verb(first):
            verb, wording = first, None
        thing = others if verb else [first, *others]
        getting = cold_words.GETTING_VERBS | cold_words.SEEKING_VERBS
        if is_query := not verb or (verb in getting and bool(thing)):
            form, verb = _QUERY, ""
        elif thing and verb not in cold_words.MAKING_VERBS and not _ALL_OF_THEM & {*thing}:
            form = _ACTION
        else:
            form, verb = _PLAIN_ACTION, " ".join([verb, *(wording.rest if wording else others)])
        one = english.singular(" ".join(thing))
        filled = {"VERB": verb, "ONE": one, "MANY": english.plural(one), "FUNCTION": function}
        filled["A_ONE"] = f"{english.article(one)} {one}"
        filled["ID"] = (
            f"{one}_thing".replace(" ", "_") if one == function else one.replace(" ", "_")
        )
        if form is not _PLAIN_ACTION:
            entities[filled["ID"]] = None
        for path, text in form.items():
            parts[path].append(_fill(text, name, words, **filled))
        named = f" the {one} sunrise" if form is _ACTION else ""
        sentences.append(f"check my {filled['MANY']}" if is_query else verb + named)
    declared = "\n".join(f'  entity {e} #_[canonical="{e.replace("_", " ")}"];' for e in entities)
    body = "\n\n".join(parts["skill.tt"])
    return {
        "skill.tt": _fill(_NAMED_CLASS, name, words, ENTITIES=declared, FUNCTIONS=body),
        "templates.genie": _fill(_NAMED_TEMPLATES, name, words) + "".join(parts["templates.genie"]),
        "eval.tsv": "utterance\tprogram\n" + "".join(parts["eval.tsv"]),
    }, sentences[0]


def _check_function(name: str, others: Sequence[str]) -> None:
    """Refuse what cannot name a function (R031), or what does already."""
    expected, hint = "", ""
    if not _FUNCTION.fullmatch(name):
        expected = "the name of a function in lower-case letters, digits and _"
        better = re.sub(r"\W+", "_", name.strip().lower()).strip("_0123456789")
        hint = f"for example: {better or 'renew_loan'}"
    elif name in _TAKEN:
        expected = "the name of a function that means nothing else in programs"
        hint = f"for example: my_{name}"
    elif name in others:
        expected, hint = "each function once", "leave one of them out"
    if expected:
        raise GenieError(Problem("R031", f"expected {expected}, got {name!r}", hint=hint))


def grammar_text(*, facts: bool = True) -> str:
    """Return the templates of a new grammar.

    Args:
        facts: whether skills may say outputs in their own words, as the shipped ones do.
    """
    return _GRAMMAR + _FACTS if facts else _GRAMMAR


def _fill(text: str, name: str, words: str, **others: str) -> str:
    for key, value in {**others, "NAME": name, "WORDS": words}.items():
        text = text.replace(f"@{key}@", value)
    return text


def write_files(target: Path, files: Mapping[str, str]) -> None:
    """Write files into a new folder, all or none.

    Raises:
        GenieError: the folder exists; nothing is overwritten (R032).
    """
    if target.exists():
        hint = "give another name, or move the old one away"
        raise GenieError(Problem("R032", f"{target} exists already", hint=hint))
    with named_trouble(target), _folder_when_complete(target) as partial:
        for name, text in files.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def _folder_when_complete(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that gets its name when the block ends well."""
    partial = target.with_name(f".{target.name}.partial")
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _checked_name(name: str, what: str, *, dots: bool) -> str:
    """Return the name, or raise GenieError with one that would do."""
    parts = name.split(".") if dots else [name]
    if all(_PART.fullmatch(part) for part in parts):
        return name
    expected = "lower-case letters, digits, - and _, beginning with a letter"
    if dots:
        expected += ", in parts separated by dots"
    better = suggest_name(name, dots=dots)
    hint = f"for example: genie-dp new {what} {better}" if better else None
    raise GenieError(Problem("R031", f"expected a name of {expected}, got {name!r}", hint=hint))


def suggest_name(name: str, *, dots: bool) -> str:
    """Return the name that is meant, or "" where nothing is left of it.

    >>> suggest_name("@Com.Example My-Notes", dots=True), suggest_name("my.project", dots=False)
    ('com.example_my-notes', 'my_project')
    """
    text = re.sub(r"[^a-z0-9_.-]+", "_", name.strip().lstrip("@").lower())
    parts = text.split(".") if dots else [text.replace(".", "_")]
    cleaned = (re.sub(r"^[^a-z]+", "", part).strip("_-") for part in parts)
    return ".".join(part for part in cleaned if part)
