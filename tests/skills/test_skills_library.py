"""What a library answers: inheritance, entity types, phrases, vocabulary, warnings, templates."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import render_problem
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.declarations import Annotation, ClassDef, FunctionDecl, ParamDecl
from genie_dp.languages.thingtalk.parser import parse_classes
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.templates import parameter_value
from genie_dp.languages.types import NUMBER, STRING, Enum
from genie_dp.skills import annotations, check, load, vocabulary
from genie_dp.skills.check import check_library, check_sentences
from genie_dp.skills.link import lineage, link
from genie_dp.skills.load import load_library
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.thingpedia import convert
from tests.golden import cases
from tests.languages.thingtalk.decoding.decoding_walks import is_accepted
from tests.skills.skill_files import write_library

# ----------------------------------------------------------------------------- inheritance


@st.composite
def hierarchies(draw: st.DrawFn) -> dict[str, ClassDef]:
    """Up to seven classes without cycles; each declares some of three functions."""
    names = [f"c{i}" for i in range(draw(st.integers(1, 7)))]
    found = {}
    for i, name in enumerate(names):
        parents = draw(st.lists(st.sampled_from(names[:i]), unique=True, max_size=3)) if i else []
        own = draw(st.lists(st.sampled_from("fgh"), unique=True))
        functions = tuple(
            FunctionDecl("action", f, (ParamDecl(f"of_{name}", "in req", STRING),)) for f in own
        )
        found[name] = ClassDef(name, extends=tuple(parents), functions=functions)
    return found


def ancestors(name: str, classes: dict[str, ClassDef]) -> set[str]:
    return {name}.union(*(ancestors(p, classes) for p in classes[name].extends))


@given(hierarchies(), st.randoms())
def test_a_class_has_every_function_of_its_ancestors_the_nearest_first(classes, rng):
    linked = link(classes.values(), is_lenient={})
    shuffled = list(classes.values())
    rng.shuffle(shuffled)
    assert linked.problems == ()
    assert link(shuffled, is_lenient={}).classes == linked.classes  # whatever the order of files
    for name, found in linked.classes.items():
        line, above = lineage(name, classes), ancestors(name, classes)
        assert line[0] == name
        assert len(line) == len(set(line))
        assert set(line) == above
        for i, earlier in enumerate(line):
            assert not any(earlier in ancestors(later, classes) for later in line[i + 1 :])
        declared = {a: {f.name for f in classes[a].functions} for a in above}
        assert set(found.functions) == set().union(*declared.values())
        for function in found.functions.values():
            (parameter,) = function.signature.parameters
            owner = parameter.name.removeprefix("of_")
            others = [a for a in above if function.signature.name in declared[a]]
            assert not any(owner in ancestors(a, classes) - {a} for a in others)


def library_of(text: str) -> SkillLibrary:
    """Return the library of class declarations in one text."""
    definitions = parse_classes(text, file="x.tt")
    linked = link(definitions, is_lenient={})
    assert linked.problems == ()
    return SkillLibrary(classes=linked.classes)


def test_a_function_is_inherited_as_its_own_or_replaced_with_its_phrases():
    library = library_of(
        """abstract class @org.lamp { action dim(in req level : Number #_[canonical="level"]); }
        class @org.desk extends @org.lamp {}
        class @org.tall extends @org.lamp { action dim(in opt by : Number); }"""
    )
    assert library.function("org.desk", "dim").qualified == "@org.desk.dim"
    assert library.phrases("@org.desk.dim", "level") == {"base": ("level",)}
    assert library.phrases("@org.tall.dim", "level") == {}
    named = {c: [p.name for p in library.function(c, "dim").parameters] for c in library.classes}
    assert named == {"org.lamp": ["level"], "org.desk": ["level"], "org.tall": ["by"]}


def test_in_a_diamond_the_nearer_counts_and_of_two_parents_the_first():
    library = library_of(
        """abstract class @a { query f(out x : Number); }
        abstract class @b extends @a {}
        abstract class @c extends @a { query f(out y : Number); query g(); }
        class @d extends @b, @c {}
        abstract class @e { query f(out z : Number); }
        class @g extends @e, @c {}"""
    )
    assert [p.name for p in library.function("d", "f").parameters] == ["y"]
    assert [p.name for p in library.function("g", "f").parameters] == ["z"]
    assert library.function_names("g") == ("f", "g")


def test_a_query_that_extends_others_has_their_parameters_first():
    library = library_of(
        """class @a {
          list query files(in opt folder : String, out name : String #_[canonical="name"],
                           out size : Number);
          query links(out name : Number, out url : Entity(tt:url));
          list query pictures extends files, links (out width : Number, out size : String);
        }
        class @b extends @a { query pictures extends files (out width : Number); }"""
    )
    found = library.function("a", "pictures").parameters
    assert [p.name for p in found] == ["folder", "name", "size", "url", "width"]
    assert [p.type for p in found][1:3] == [STRING, STRING]
    found = library.function("b", "pictures").parameters
    assert [p.name for p in found] == ["folder", "name", "size", "width"]
    assert library.phrases("@b.pictures", "name") == {"base": ("name",)}


def test_functions_are_callable_in_the_class_that_declares_them_and_in_those_that_extend_it():
    library, thingtalk = library_of(LAMPS), get_language("thingtalk")
    found = {f.qualified: library.is_inherited(f.qualified) for f in library.functions()}
    assert found == {
        "@org.lamp.dim": False,
        "@org.lamp.glow": False,
        "@org.desk.glow": False,
        "@org.desk.dim": True,
        "@org.tall.glow": True,
        "@org.tall.dim": True,
    }
    assert library.find("@org.tall.glow").owner == "org.desk"
    assert not library.is_inherited("@org.lamp.sing")
    names = [f"@{c}.{name}" for c in library.class_names() for name in library.function_names(c)]
    assert sorted(names) == sorted(found)
    for name in names:
        assert thingtalk.check(thingtalk.parse(f"now => {name}()"), library) == []
        assert is_accepted(thingtalk.decoding_grammar(library), [], f"now => {name}")
    assert library.function("b", "f") is library.function("org.lamp", "g") is None
    assert library.function_names("b") == library.values("nowhere") == ()
    assert library.phrases("@org.lamp.sing", "x") == {}


LAMPS = """abstract class @org.lamp { action dim(); action glow(); }
class @org.desk extends @org.lamp { action glow(); }
class @org.tall extends @org.desk {}"""


# ---------------------------------------------------------------------------- entity types

ENTITIES = """
>> org.shop/skill.tt
class @org.shop {
  entity item;
  entity book extends item;
  entity poster extends item, ^^tt:picture;
  query items(out item : Entity(org.shop:item), out maker : Entity(org.makers:maker));
}
>> org.shelf/skill.tt
class @org.shelf extends @org.shop { entity novel extends book; }
"""


def test_entity_types_form_a_hierarchy_built_in_declared_or_used(tmp_path):
    library = load_library([write_library(tmp_path, ENTITIES)])
    expected = {
        ("org.shelf:novel", "org.shop:item"): True,
        ("org.shop:poster", "tt:url"): True,
        ("org.shop:item", "org.shop:book"): False,
        ("org.shop:item", "org.shop:item"): True,
        ("org.unknown:x", "org.unknown:x"): True,
        ("org.unknown:x", "tt:url"): False,
    }
    for (kind, other), answer in expected.items():
        assert library.is_entity_subtype(kind, other) is answer, (kind, other)
    assert library.entity_types["org.shop:book"].parents == ("org.shop:item",)
    assert library.entity_types["org.makers:maker"].span is None
    assert "tt:hashtag" in library.entity_types


# ------------------------------------------------------------------------- phrases, values


def read_value(text: str) -> object:
    """Return the value of an annotation: lists are tuples there."""
    value = json.loads(text)
    if isinstance(value, dict):
        return {name: tuple(v) if isinstance(v, list) else v for name, v in value.items()}
    return tuple(value) if isinstance(value, list) else value


def test_phrases_have_our_parts_of_speech(golden):
    [case] = cases("skills/phrases.txt")
    found = [
        annotations.parameter_phrases([Annotation("canonical", read_value(line), natural=True)])
        for line in case.input.splitlines()
    ]
    golden(case, "\n".join(json.dumps(dict(phrases)) for phrases in found))


def test_superlatives_are_those_of_comparisons_and_those_written():
    library = library_of(
        """class @a { list query pears(
          out size : Number #_[canonical={more=["larger than #"], most=["biggest"], least=["tiny"]}]
        ); }"""
    )
    said = [(p.part, p.words) for p in vocabulary.outputs(library) if p.part in ("most", "least")]
    assert sorted(said) == [("least", "tiny"), ("most", "biggest"), ("most", "largest")]
    library = library_of("class @a { list query pears(out stains : Array(String)); }")
    assert vocabulary.types_in_use(library) == (NUMBER, STRING)  # who has lists says numbers


def test_enum_values_are_spoken_as_annotated_or_by_their_name():
    library = library_of(
        """class @a { query f(
          out mode : Enum(do_not_disturb, off, us)
            #_[enum={off="switched off", us=["us", "American"]}],
          out kind : Enum(toy, x1) #_[canonical={base="kind", enum={x1="new"}}]); }"""
    )
    assert library.enum_phrase("@a.f", "mode", "off") == "switched off"
    assert library.enum_phrase("@a.f", "mode", "do_not_disturb") == "do not disturb"
    assert library.enum_phrases("@a.f", "mode", "us") == ("us", "american")
    assert library.enum_phrase("@a.f", "kind", "x1") == "new"
    assert library.phrases("@a.f", "kind") == {"base": ("kind",)}


def test_annotations_of_values_and_totals_reach_the_signature():
    library = library_of(
        """class @a { action f(
          in req text : String #[string_values="tt:word"] #[accepts=["tt:name", "tt:title"]],
          in opt id : String #[unique=true] #[accepts="tt:id"]);
        query g(out size : Measure(byte), out price : Currency #[additive=false],
          out likes : Number #[additive=true]); }"""
    )
    found = [(p.value_list, p.unique, p.accepts) for p in library.function("a", "f").parameters]
    assert found == [("tt:word", False, ("tt:name", "tt:title")), (None, True, ("tt:id",))]
    function = library.function("a", "g")
    assert [p.is_additive for p in function.parameters] == [None, False, True]
    told = [parameter_value(function, p).state.is_additive for p in function.parameters]
    assert told == [True, False, True]


def test_a_skill_is_called_by_its_canonical_its_name_or_its_class():
    library = library_of(
        """class @org.a #_[canonical="Alpha"] #_[name="A"] {} class @org.b #_[name="Beta"] {}
        class @org.light-bulb {}"""
    )
    called = [library.class_phrase(name) for name in ("org.a", "org.b", "org.light-bulb", "x.y_z")]
    assert called == ["alpha", "beta", "light bulb", "y z"]


# ------------------------------------------------------------------------------ vocabulary

VOCABULARY = """class @a {
  query f(in req r : Number #_[canonical="r"], in opt o : Enum(x, y) #_[canonical="o"],
          out size : Array(Number) #_[canonical={base="size", plural="sizes", more="larger than"}],
          out silent : String);
  action g(in opt o : String #_[canonical={base=["note", "words"]}]);
}
abstract class @b { query h(out size : Number #_[canonical="size"]); }
class @c extends @b {}"""


def test_outputs_are_those_of_callable_queries_with_phrases_and_inputs_the_optional_ones():
    library = library_of(VOCABULARY)
    outputs, inputs = (
        [f"{p.signature.qualified} {p.parameter.name} {p.part}: {p.words} {p.number}" for p in of]
        for of in (vocabulary.outputs(library), vocabulary.inputs(library))
    )
    assert outputs == [
        "@a.f size base: size sg",
        "@a.f size plural: sizes pl",
        "@a.f size more: larger than # sg",
        "@a.f size most: largest sg",
        "@a.f size comparative: larger sg",
        "@a.f size how: large sg",
        "@b.h size base: size sg",
        "@c.h size base: size sg",
    ]
    assert inputs == ["@a.f o base: o sg", "@a.g o base: note sg", "@a.g o base: words pl"]
    assert vocabulary.types_in_use(library) == (Enum(("x", "y")), NUMBER, STRING)


# ------------------------------------------------------------------ warnings, real templates


@pytest.mark.parametrize("case", cases("skills/warnings.txt"), ids=str)
def test_what_is_missing_or_odd_is_a_warning(case, golden, tmp_path):
    library = load_library([write_library(tmp_path, case.input)])
    found = [*library.warnings, *check_library(library)]
    assert {p.severity for p in found} <= {"warning"}
    shown = "\n".join(render_problem(p, library.sources) for p in found)
    golden(case, shown.replace(f"{tmp_path}/", ""))


def test_an_input_that_nothing_says_is_a_warning(tmp_path):
    text = """>> x/skill.tt
class @x {
  action f(in req a : Number, in opt b : Number, in opt is_c : Boolean,
           in opt d : Number #_[canonical={base=["d"], adverb=["at #"]}],
           in opt e : Number #_[canonical={preposition=["by #"]}]) #_[canonical="f"];
  action unsaid(in req a : Number) #_[canonical="unsaid"];
}"""
    library = load_library([write_library(tmp_path, text)])
    templated = {"@x.f"}
    found = [p for p in check_library(library, templated, ()) if p.code in ("K122", "K123")]
    assert [(p.code, p.message, str(p.span).rpartition("skill.tt:")[2]) for p in found] == [
        ("K123", "no template of @x.f gives its required input 'a'", "2:12"),
        ("K122", "nothing says the input 'b' of @x.f", "2:31"),
        ("K122", "nothing says the input 'is_c' of @x.f", "2:50"),
    ]
    assert 'adverb_true=["with is c"]' not in str(found[1].hint)
    assert all(p.hint for p in found)
    given = [("@x.f", "a"), ("@x.f", "b"), ("@x.f", "is_c")]
    assert {p.code for p in check_library(library, templated, given)} == {"K100"}
    # Who does not know what templates give is told of none.
    assert "K122" not in {p.code for p in check_library(library, templated)}


def test_prepositions_of_real_manifests_are_adverbs_of_inputs():
    library = library_of(
        """class @x { query f(in opt a : Number #_[canonical={preposition=["at #"]}],
                             out b : Number #_[canonical={preposition=["by #"]}]); }"""
    )
    assert library.phrases("@x.f", "a") == {"adverb": ("at #",)}
    assert library.phrases("@x.f", "b") == {"passive_verb": ("by #",)}


def test_a_function_without_template_is_a_warning_but_not_what_is_inherited(tmp_path):
    text = """>> x/skill.tt
abstract class @x { action f() #_[canonical="f"]; action g() #_[canonical="g"]; }
>> y/skill.tt
class @y extends @x { action g() #_[canonical="g"]; }"""
    library = load_library([write_library(tmp_path, text)])
    found = check_library(library, {"@x.g"})
    assert [(p.code, p.message) for p in found] == [
        ("K100", "no template speaks of @x.f"),
        ("K100", "no template speaks of @y.g"),
    ]
    assert str(found[0].span).endswith("x/skill.tt:1:21")
    assert check_library(library) == []


@pytest.mark.parametrize("case", cases("skills/primitives.txt"), ids=str)
def test_real_primitive_templates_become_ours(case, golden, tmp_path):
    library = load_library([write_library(tmp_path, case.input)])
    found = convert(library)
    rows = [
        f"{t.identifier} {t.category} {t.utterance!r} -> {render(t.body)}" for t in found.templates
    ]
    rows += [render_problem(p, library.sources).replace(f"{tmp_path}/", "") for p in found.warnings]
    rows.append(f"{found.sound} of {found.examples} type-check")
    golden(case, "\n".join(rows))


def test_templates_have_names_of_their_own(tmp_path):
    example = 'action := @x.f() #_[utterances=["do", "go"]] #[id=1];\n'
    text = (
        ">> x/manifest.tt\nclass @x { action f(); }\n>> x/dataset.tt\ndataset @x {\n"
        f'{example}{example}action := @x.f() #_[utterances=["run"]];\n}}'
    )
    found = convert(load_library([write_library(tmp_path, text)])).templates
    names = [t.identifier for t in found]
    assert names == ["x.1.n1.1", "x.1.n1.2", "x.1.n2.1", "x.1.n2.2", "x.n3.1"]


@pytest.mark.parametrize("case", cases("skills/sentences.txt"), ids=str)
def test_sentences_of_skills_are_checked(case, golden, tmp_path):
    library = load_library([write_library(tmp_path, case.input)])
    problems, sources = check_sentences(library)
    shown = "\n".join(render_problem(p, sources) for p in problems)
    golden(case, shown.replace(f"{tmp_path}/", ""))


def test_every_code_of_warnings_has_a_case():
    documented = set(re.findall(r"K1\d\d", f"{check.__doc__} {load.__doc__}")) - {
        "K100",
        "K122",
        "K123",
    }
    shown = [c.expected for name in ("warnings", "sentences") for c in cases(f"skills/{name}.txt")]
    assert documented == set(re.findall(r"\[(K1\d\d)\]", "\n".join(shown)))
    assert len(documented) > 20
