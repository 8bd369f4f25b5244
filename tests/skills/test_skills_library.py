"""What a library answers: inheritance, entity types, phrases, vocabulary, warnings, templates."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import render_problem
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.constants import parameter_value
from genie_dp.languages.thingtalk.declarations import Annotation, ClassDef, FunctionDecl, ParamDecl
from genie_dp.languages.thingtalk.parser import parse_classes
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.types import NUMBER, STRING, Enum
from genie_dp.skills import annotations, check, load, vocabulary
from genie_dp.skills.check import check_library, check_sentences
from genie_dp.skills.link import lineage, link
from genie_dp.skills.load import load_library
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.thingpedia import convert
from tests.conftest import Golden
from tests.golden import Case, cases
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


@given(hierarchies())
def test_a_lineage_is_the_class_and_all_its_ancestors_each_once(
    classes: dict[str, ClassDef],
) -> None:
    for name in classes:
        line = lineage(name, classes)
        assert line[0] == name
        assert len(line) == len(set(line))
        assert set(line) == ancestors(name, classes)


@given(hierarchies())
def test_in_a_lineage_every_class_comes_before_its_ancestors(classes: dict[str, ClassDef]) -> None:
    for name in classes:
        line = lineage(name, classes)
        for i, earlier in enumerate(line):
            assert not any(earlier in ancestors(later, classes) for later in line[i + 1 :])


@given(hierarchies())
def test_a_class_has_every_function_of_its_ancestors(classes: dict[str, ClassDef]) -> None:
    linked = link(classes.values(), is_lenient={})
    assert linked.problems == ()
    for name, found in linked.classes.items():
        declared = {f.name for a in ancestors(name, classes) for f in classes[a].functions}
        assert set(found.functions) == declared


@given(hierarchies())
def test_no_ancestor_hides_what_a_class_between_declares(classes: dict[str, ClassDef]) -> None:
    for name, found in link(classes.values(), is_lenient={}).classes.items():
        for function in found.functions.values():
            (parameter,) = function.signature.parameters
            owner = parameter.name.removeprefix("of_")
            others = [
                a
                for a in ancestors(name, classes)
                if any(f.name == function.signature.name for f in classes[a].functions)
            ]
            assert not any(owner in ancestors(a, classes) - {a} for a in others)


@given(hierarchies(), st.randoms())
def test_the_order_of_the_files_does_not_change_a_class(classes: dict[str, ClassDef], rng) -> None:
    shuffled = list(classes.values())
    rng.shuffle(shuffled)
    one, two = link(classes.values(), is_lenient={}), link(shuffled, is_lenient={})
    assert all(one.classes[name] == two.classes[name] for name in classes)


def library_of(text: str) -> SkillLibrary:
    """Return the library of class declarations in one text."""
    definitions = parse_classes(text, file="x.tt")
    linked = link(definitions, is_lenient={})
    assert linked.problems == ()
    return SkillLibrary(classes=linked.classes)


def test_an_inherited_function_is_the_childs_own() -> None:
    library = library_of(
        """abstract class @org.lamp { action dim(in req level : Number #_[canonical="level"]); }
        class @org.desk extends @org.lamp {}"""
    )
    signature = library.function("org.desk", "dim")
    assert signature is not None
    assert signature.qualified == "@org.desk.dim"
    assert library.phrases("@org.desk.dim", "level") == {"base": ("level",)}


def test_a_child_replaces_a_function_with_its_parameters_and_phrases() -> None:
    library = library_of(
        """class @org.lamp { action dim(in req level : Number #_[canonical="level"]); }
        class @org.desk extends @org.lamp { action dim(in opt by : Number); }"""
    )
    assert [p.name for p in library.function("org.desk", "dim").parameters] == ["by"]
    assert library.phrases("@org.desk.dim", "level") == {}
    assert [p.name for p in library.function("org.lamp", "dim").parameters] == ["level"]


def test_in_a_diamond_the_nearer_declaration_counts() -> None:
    library = library_of(
        """abstract class @a { query f(out x : Number); }
        abstract class @b extends @a {}
        abstract class @c extends @a { query f(out y : Number); }
        class @d extends @b, @c {}"""
    )
    assert [p.name for p in library.function("d", "f").parameters] == ["y"]


def test_of_two_parents_the_first_counts() -> None:
    library = library_of(
        """abstract class @a { query f(out x : Number); }
        abstract class @b { query f(out y : Number); query g(); }
        class @c extends @a, @b {}"""
    )
    assert [p.name for p in library.function("c", "f").parameters] == ["x"]
    assert library.function_names("c") == ("f", "g")


def test_a_query_that_extends_others_has_their_parameters_first() -> None:
    library = library_of(
        """class @a {
          list query files(in opt folder : String, out name : String, out size : Number);
          query links(out name : Number, out url : Entity(tt:url));
          list query pictures extends files, links (out width : Number, out size : String);
        }"""
    )
    found = library.function("a", "pictures").parameters
    assert [p.name for p in found] == ["folder", "name", "size", "url", "width"]
    assert [p.type for p in found][1:3] == [STRING, STRING]


def test_a_query_may_extend_one_of_a_parent_class() -> None:
    library = library_of(
        """class @a { query files(out name : String #_[canonical="name"]); }
        class @b extends @a { query pictures extends files (out width : Number); }"""
    )
    assert [p.name for p in library.function("b", "pictures").parameters] == ["name", "width"]
    assert library.phrases("@b.pictures", "name") == {"base": ("name",)}


def test_functions_are_callable_in_the_class_that_declares_them_and_in_those_that_extend_it():
    library = library_of(
        """abstract class @org.lamp { action dim(); action glow(); }
        class @org.desk extends @org.lamp { action glow(); }
        class @org.tall extends @org.desk {}"""
    )
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


def test_programs_may_call_what_the_type_checker_knows() -> None:
    library = library_of(
        """abstract class @org.lamp { action dim(); }
        class @org.desk extends @org.lamp { action glow(); }"""
    )
    names = [f"@{c}.{name}" for c in library.class_names() for name in library.function_names(c)]
    assert names == [f.qualified for f in library.functions()]
    for name in names:
        text = f"now => {name}()"
        thingtalk = get_language("thingtalk")
        assert thingtalk.check(thingtalk.parse(text), library) == []
        assert is_accepted(thingtalk.decoding_grammar(library), [], f"now => {name}")


def test_unknown_names_are_answered_by_nothing() -> None:
    library = library_of("class @a { action f(); }")
    assert library.function("b", "f") is None
    assert library.function("a", "g") is None
    assert library.function_names("b") == ()
    assert library.phrases("@a.g", "x") == {}
    assert library.values("nowhere") == ()


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


def test_entity_types_form_a_hierarchy(tmp_path: Path) -> None:
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


def test_entity_types_are_built_in_declared_or_used(tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, ENTITIES)])
    assert library.entity_types["org.shop:book"].parents == ("org.shop:item",)
    assert library.entity_types["org.makers:maker"].span is None
    assert "tt:hashtag" in library.entity_types


# ------------------------------------------------------------------------- phrases, values


def phrases_of(value: object) -> dict[str, tuple[str, ...]]:
    return dict(annotations.parameter_phrases([Annotation("canonical", value, natural=True)]))


def test_a_bare_phrase_or_list_is_base() -> None:
    assert phrases_of("Size") == {"base": ("size",)}
    assert phrases_of(("size", "length", "size")) == {"base": ("size", "length")}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("npp", "property"),
        ("npi", "reverse"),
        ("npv", "property"),
        ("avp", "verb"),
        ("pvp", "passive_verb"),
        ("apv", "adjective"),
        ("default", "base"),
    ],
)
def test_names_of_2019_mean_our_parts_of_speech(old: str, new: str) -> None:
    assert phrases_of({old: "made #"}) == {new: ("made #",)}


@pytest.mark.parametrize(
    ("later", "ours", "phrase"),
    [
        ("preposition", "passive_verb", "by #"),
        ("reverse_property", "noun", "pupil of #"),
        ("adjective_argmax", "most", "ripest"),
        ("adjective_argmin", "least", "greenest"),
    ],
)
def test_names_of_later_manifests_mean_our_parts_of_speech(
    later: str, ours: str, phrase: str
) -> None:
    assert phrases_of({later: phrase}) == {ours: (phrase,)}


def test_superlatives_are_those_of_comparisons_and_those_written() -> None:
    library = library_of(
        """class @a { list query pears(
          out size : Number #_[canonical={more=["larger than #"], most=["biggest"], least=["tiny"]}]
        ); }"""
    )
    said = [(p.part, p.words) for p in vocabulary.outputs(library) if p.part in ("most", "least")]
    assert sorted(said) == [("least", "tiny"), ("most", "biggest"), ("most", "largest")]


def test_who_has_lists_says_numbers() -> None:
    library = library_of("class @a { list query pears(out stains : Array(String)); }")
    assert vocabulary.types_in_use(library) == (NUMBER, STRING)


def test_a_value_without_place_stands_at_the_end() -> None:
    assert phrases_of({"pvp": "by", "npp": "the # label", "adjective": "#-rated"}) == {
        "property": ("the # label",),
        "passive_verb": ("by #",),
        "adjective": ("#-rated",),
    }


def test_what_says_no_phrase_is_left_out() -> None:
    value = {"default": "property", "implicit_identity": True, "base": ("size",), "property": ()}
    assert phrases_of(value) == {"base": ("size",)}


def test_an_adjective_that_is_the_value_itself() -> None:
    assert phrases_of({"apv": True}) == {"adjective": ("#",)}


def test_enum_values_are_spoken_as_annotated_or_by_their_name() -> None:
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


def test_annotations_of_values_reach_the_signature() -> None:
    library = library_of(
        """class @a { action f(
          in req text : String #[string_values="tt:word"] #[accepts=["tt:name", "tt:title"]],
          in opt id : String #[unique=true] #[accepts="tt:id"]); }"""
    )
    text, number = library.function("a", "f").parameters
    assert (text.value_list, text.unique, text.accepts) == (
        "tt:word",
        False,
        ("tt:name", "tt:title"),
    )
    assert (number.value_list, number.unique, number.accepts) == (None, True, ("tt:id",))


def test_whether_a_total_makes_sense_is_said_or_left_to_the_type() -> None:
    library = library_of(
        """class @a { query f(
          out size : Measure(byte), out price : Currency #[additive=false],
          out likes : Number #[additive=true]); }"""
    )
    size, price, likes = library.function("a", "f").parameters
    assert (size.is_additive, price.is_additive, likes.is_additive) == (None, False, True)
    function = library.function("a", "f")
    told = [parameter_value(function, p) for p in (size, price, likes)]
    assert [value.state.is_additive for value in told] == [True, False, True]


def test_a_skill_is_called_by_its_canonical_its_name_or_its_class() -> None:
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


def test_outputs_are_those_of_callable_queries_with_phrases() -> None:
    found = [
        (p.signature.qualified, p.parameter.name, p.part, p.words, p.number)
        for p in vocabulary.outputs(library_of(VOCABULARY))
    ]
    assert found == [
        ("@a.f", "size", "base", "size", "sg"),
        ("@a.f", "size", "plural", "sizes", "pl"),
        ("@a.f", "size", "more", "larger than #", "sg"),
        ("@a.f", "size", "most", "largest", "sg"),
        ("@a.f", "size", "comparative", "larger", "sg"),
        ("@a.f", "size", "how", "large", "sg"),
        ("@b.h", "size", "base", "size", "sg"),
        ("@c.h", "size", "base", "size", "sg"),
    ]


def test_inputs_are_the_optional_ones_of_all_functions() -> None:
    found = [
        (p.signature.qualified, p.words, p.number)
        for p in vocabulary.inputs(library_of(VOCABULARY))
    ]
    assert found == [("@a.f", "o", "sg"), ("@a.g", "note", "sg"), ("@a.g", "words", "pl")]


def test_types_in_use_are_sorted_and_those_of_elements() -> None:
    assert vocabulary.types_in_use(library_of(VOCABULARY)) == (Enum(("x", "y")), NUMBER, STRING)


# ------------------------------------------------------------------ warnings, real templates


@pytest.mark.parametrize("case", cases("skills/warnings.txt"), ids=str)
def test_what_is_missing_or_odd_is_a_warning(case: Case, golden: Golden, tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, case.input)])
    found = [*library.warnings, *check_library(library)]
    assert {p.severity for p in found} <= {"warning"}
    shown = "\n".join(render_problem(p, library.sources) for p in found)
    golden(case, shown.replace(f"{tmp_path}/", ""))


def test_a_function_without_template_is_a_warning(tmp_path: Path) -> None:
    text = '>> x/skill.tt\nclass @x { action f() #_[canonical="f"]; action g() #_[canonical="g"]; }'
    library = load_library([write_library(tmp_path, text)])
    (problem,) = check_library(library, {"@x.f"})
    assert (problem.code, problem.message) == ("K100", "no template speaks of @x.g")
    assert str(problem.span).endswith("x/skill.tt:1:42")
    assert check_library(library) == []


def test_an_input_that_nothing_says_is_a_warning(tmp_path: Path) -> None:
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


def test_prepositions_of_real_manifests_are_adverbs_of_inputs(tmp_path: Path) -> None:
    text = """>> x/skill.tt
class @x {
  query f(in opt a : Number #_[canonical={preposition=["at #"]}],
          out b : Number #_[canonical={preposition=["by #"]}]);
}"""
    library = load_library([write_library(tmp_path, text)])
    assert library.phrases("@x.f", "a") == {"adverb": ("at #",)}
    assert library.phrases("@x.f", "b") == {"passive_verb": ("by #",)}


def test_what_is_inherited_needs_no_template_of_its_own(tmp_path: Path) -> None:
    text = """>> x/skill.tt
abstract class @x { action f() #_[canonical="f"]; action g() #_[canonical="g"]; }
>> y/skill.tt
class @y extends @x { action g() #_[canonical="g"]; }"""
    library = load_library([write_library(tmp_path, text)])
    found = [problem.message for problem in check_library(library, {"@x.g"})]
    assert found == ["no template speaks of @x.f", "no template speaks of @y.g"]


@pytest.mark.parametrize("case", cases("skills/primitives.txt"), ids=str)
def test_real_primitive_templates_become_ours(case: Case, golden: Golden, tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, case.input)])
    found = convert(library)
    rows = [
        f"{t.identifier} {t.category} {t.utterance!r} -> {render(t.body)}" for t in found.templates
    ]
    rows += [render_problem(p, library.sources).replace(f"{tmp_path}/", "") for p in found.warnings]
    rows.append(f"{found.sound} of {found.examples} type-check")
    golden(case, "\n".join(rows))


def test_templates_have_names_of_their_own(tmp_path: Path) -> None:
    library = load_library(
        [
            write_library(
                tmp_path,
                ">> x/manifest.tt\nclass @x { action f(); }\n>> x/dataset.tt\ndataset @x {\n"
                + 'action := @x.f() #_[utterances=["do", "go"]] #[id=1];\n' * 2
                + 'action := @x.f() #_[utterances=["run"]];\n}',
            )
        ]
    )
    names = [t.identifier for t in convert(library).templates]
    assert names == ["x.1.n1.1", "x.1.n1.2", "x.1.n2.1", "x.1.n2.2", "x.n3.1"]


@pytest.mark.parametrize("case", cases("skills/sentences.txt"), ids=str)
def test_sentences_of_skills_are_checked(case: Case, golden: Golden, tmp_path: Path) -> None:
    library = load_library([write_library(tmp_path, case.input)])
    problems, sources = check_sentences(library)
    shown = "\n".join(render_problem(p, sources) for p in problems)
    golden(case, shown.replace(f"{tmp_path}/", ""))


def test_every_code_of_warnings_has_a_case() -> None:
    documented = set(re.findall(r"K1\d\d", f"{check.__doc__} {load.__doc__}")) - {
        "K100",
        "K122",
        "K123",
    }
    shown = [c.expected for name in ("warnings", "sentences") for c in cases(f"skills/{name}.txt")]
    assert documented == set(re.findall(r"\[(K1\d\d)\]", "\n".join(shown)))
    assert len(documented) > 20
