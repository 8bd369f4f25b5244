"""Invented rows of every type, in the library of the type checker's tests, and lists for them."""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.engine import AugmentEngine
from genie_dp.augment.expand_places import placeholder
from genie_dp.augment.values import ChosenList, ValueList
from genie_dp.languages import get_language
from genie_dp.records import Example, Slot
from genie_dp.skills.load import load_library

SKILLS = Path(__file__).parents[1] / "data" / "typecheck" / "skills"
THINGTALK = get_language("thingtalk")
SEXPR = get_language("sexpr")
SILENT = {
    "filler": 0.0, "drop_article": 0.0, "typo": 0.0, "drop_punctuation": 0.0, "number_words": 0.0,
    "reword": 0.0,
}  # fmt: skip

INBOX = "( @com.example.mail.inbox ) filter"
SENTENCES = (
    ("show me emails with the subject QUOTED_STRING_0 , please",
     f"now => {INBOX} param:subject:String == QUOTED_STRING_0 => notify"),
    ("get the emails that mention QUOTED_STRING_0",
     f"now => {INBOX} param:subject:String =~ QUOTED_STRING_0 => notify"),
    ("emails that begin with QUOTED_STRING_0",
     f"now => {INBOX} param:subject:String starts_with QUOTED_STRING_0 => notify"),
    ("emails that end in QUOTED_STRING_0",
     f"now => {INBOX} param:subject:String ends_with QUOTED_STRING_0 => notify"),
    ("emails with the label QUOTED_STRING_0 and with the label QUOTED_STRING_1",
     f"now => {INBOX} param:labels:Array(String) contains QUOTED_STRING_0 and "
     "param:labels:Array(String) contains QUOTED_STRING_1 => notify"),
    ("mail QUOTED_STRING_0 to EMAIL_ADDRESS_0",
     "now => @com.example.mail.send param:subject:String = QUOTED_STRING_0 "
     "param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0"),
    ("send an EMAIL_ADDRESS_0 the message QUOTED_STRING_0 labeled QUOTED_STRING_1 or "
     "QUOTED_STRING_2",
     "now => @com.example.mail.send param:labels:Array(String) = [ QUOTED_STRING_1 , "
     "QUOTED_STRING_2 ] param:subject:String = QUOTED_STRING_0 "
     "param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0"),
    ("archive PATH_NAME_0",
     "now => @com.example.mail.archive param:folder:Entity(tt:path_name) = PATH_NAME_0"),
    ("what is in a GENERIC_ENTITY_com.example.mail:folder_0 folder",
     "now => @com.example.mail.inbox param:folder:Entity(com.example.mail:folder) = "
     "GENERIC_ENTITY_com.example.mail:folder_0 => notify"),
    ("tell me when USERNAME_0 or USERNAME_1 writes",
     f"monitor ( {INBOX} param:sender:Entity(tt:username) == USERNAME_0 or "
     "param:sender:Entity(tt:username) == USERNAME_1 ) => notify"),
    ("the 5 emails larger than MEASURE_byte_0 from after DATE_0",
     "now => ( @com.example.mail.inbox param:most:Number = 5 ) filter param:date:Date > DATE_0 and "
     "param:size:Measure(byte) > MEASURE_byte_0 => notify"),
    ("translate QUOTED_STRING_0 into GENERIC_ENTITY_tt:iso_lang_code_0",
     "now => @com.example.words.translate param:language:Entity(tt:iso_lang_code) = "
     "GENERIC_ENTITY_tt:iso_lang_code_0 param:text:String = QUOTED_STRING_0 => notify"),
    ("pay GENERIC_ENTITY_tt:contact_0 CURRENCY_0 at once",
     "now => @com.example.home.pay param:amount:Currency = CURRENCY_0 "
     "param:to:Entity(tt:contact) = GENERIC_ENTITY_tt:contact_0"),
    ("pictures tagged HASHTAG_0",
     "now => ( @com.example.words.pictures ) filter param:hashtags:Array(Entity(tt:hashtag)) "
     "contains HASHTAG_0 => notify"),
    ("the weather at LOCATION_0 when it is over MEASURE_C_0",
     "edge ( monitor ( @com.example.home.weather param:place:Location = LOCATION_0 ) ) on "
     "param:temperature:Measure(C) > MEASURE_C_0 => notify"),
    ("at TIME_0 set the light to NUMBER_0",
     "attimer time = TIME_0 => @com.example.home.light param:level:Number = NUMBER_0 "
     "param:power:Enum(on,off) = enum:on"),
    ("every DURATION_0 mail the word of the day to EMAIL_ADDRESS_0",
     "timer base = now , interval = DURATION_0 => @com.example.words.day => "
     "@com.example.mail.send param:to:Entity(tt:email_address) = EMAIL_ADDRESS_0 on "
     "param:subject:String = param:filter:String"),
    ("mail from USERNAME_0 and the weather",
     f"now => ( @com.example.home.weather ) join ( {INBOX} param:sender:Entity(tt:username) == "
     "USERNAME_0 ) => notify"),
    ("translate QUOTED_STRING_0 and then QUOTED_STRING_1",
     "now => ( @com.example.words.translate param:text:String = QUOTED_STRING_0 ) join "
     "( @com.example.words.translate param:text:String = QUOTED_STRING_1 ) => notify"),
    ("let the boss see my mail about QUOTED_STRING_0",
     'policy param:source:Entity(tt:contact) == null " the boss " ^^tt:contact : now => '
     "@com.example.mail.inbox filter param:subject:String =~ QUOTED_STRING_0 => notify"),
    ("show my mail", "now => @com.example.mail.inbox => notify"),
)  # fmt: skip


def row(utterance: str, program: str, *, id: str = "S0", **fields: object) -> Example:
    """Return a row of ThingTalk with its functions and slots."""
    words = program.split(" ")
    functions = tuple(word for word in words if word.startswith("@"))
    slots = {}
    for token in dict.fromkeys(utterance.split(" ")):
        known = placeholder(token)
        if known is not None:
            at = words.index(token)
            name = next((w.split(":")[1] for w in words[at::-1] if w.startswith("param:")), "time")
            slots[token] = Slot(str(known[2]), f"{(functions or ('',))[0]}:{name}")
    return Example(
        id, utterance, program, functions=functions, depth=2, slots=slots,
        **fields,  # type: ignore[arg-type]
    )  # fmt: skip


ROWS = tuple(row(*pair, id=f"S{number}") for number, pair in enumerate(SENTENCES))

PEOPLE = ("ann", "bob lee", "carla van dyk", "dmitri", "eve o'hara", "fatou", "greg")
TEXTS = (
    "the quarterly budget is late again", "lunch", "my cat's picture", "see you at the old harbour",
    "call back", "a fine day", "zebra crossing", "what a year", "notes of the meeting on monday",
)  # fmt: skip


@dataclass
class Lists:
    """Values by type or parameter; every other place gets people or texts."""

    own: dict[str, tuple[str, ...]] = field(default_factory=dict)
    made: dict[str, ValueList] = field(default_factory=dict)

    def values_for(self, type_, parameter):
        """Return the list for a parameter."""
        return self.choose(type_, parameter).values

    def choose(self, type_, parameter):
        """Return the list for a parameter."""
        default = TEXTS if str(type_) == "String" else PEOPLE
        key = next((k for k in (parameter, str(type_)) if k in self.own), str(type_))
        if key not in self.made:
            self.made[key] = ValueList(key, "", self.own.get(key, default))
        return ChosenList(self.made[key], "generic")


@cache
def library():
    """Return the library of the invented skills."""
    return load_library([SKILLS])


def engine(values=None, *, language=THINGTALK, lexicon=None, skip_broken=False, **settings):
    """Return an engine over the invented library."""
    config = AugmentConfig(**settings)
    known = library() if language is THINGTALK else None
    return AugmentEngine(
        config, values or Lists(), language, known, lexicon, skip_broken=skip_broken
    )


def placeholders(text: str) -> list[str]:
    """Return the placeholders of a text, sorted."""
    return sorted(t for t in text.split(" ") if placeholder(t))


def quoted(program: str) -> list[str]:
    """Return what stands between quotes in a program."""
    return [part.strip() for part in program.split('"')[1::2]]
