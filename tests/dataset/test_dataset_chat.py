"""Chats say what rows say: calls that fit their tools, programs as text, refusals, questions."""

import json
import re
from functools import cache

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment.skill_rows import skill_rows
from genie_dp.cli import run
from genie_dp.dataset.chat import function_name, tool_name
from genie_dp.dataset.formats import CHATS
from genie_dp.dataset.functiongemma import word_of
from genie_dp.languages import get_language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from tests.dataset.dataset_rows import read, row, write

THINGTALK = get_language("thingtalk")
POST = "@com.twitter.post param:status:String ="
TWEET = row("T1", "tweet good morning", f'now => {POST} " good morning "')
BOTH = row("T2", "show my inbox and tweet hi", f'now => @com.gmail.inbox => {POST} " hi "')
PAUSE = "monitor ( @com.gmail.inbox ) => @com.spotify.pause"
WATCH = row("T3", "when i get mail pause spotify", PAUSE)
SONG = row("T4", "sing me a song", OUT_OF_SCOPE)
EVENT = row("T5", "add an event", "now => @com.google.calendar.create_event")
SLOTS = row("T6", "tweet QUOTED_STRING_0", f"now => {POST} QUOTED_STRING_0")
STRANGE = row("T7", "list orders")
ROWS = [TWEET, BOTH, WATCH, SONG, EVENT]


@cache
def shipped():
    return load_library([data_folder("thingpedia")])


@cache
def real_rows():
    """Return rows of the shipped skills without placeholders, and with all inputs."""
    rows = skill_rows([data_folder("thingpedia")], THINGTALK, shipped())
    whole = (
        row
        for row in rows
        if not THINGTALK.structure.missing_inputs(THINGTALK.from_tokens(row.program), shipped())
    )
    return [one for one in whole if not re.search("[A-Z]_[0-9]", one.utterance)][::9]


def converted(folder, rows, to="chat", *options):
    source = write(folder / "rows.jsonl", rows)
    target = folder / f"{to}.chat.jsonl"
    assert (
        run(["data", "convert", str(source), str(target), "--to", to, "--overwrite", *options]) == 0
    )
    return read(target)


def answers(chats):
    return [chat["messages"][-1] for chat in chats]


def names(tools):
    return [tool["function"]["name"] for tool in tools]


def called(message):
    return [
        (f"@{function_name(call['function']['name'])}", json.loads(call["function"]["arguments"]))
        for call in message.get("tool_calls", ())
    ]


def test_calls_are_tool_calls_and_other_programs_text(tmp_path):
    tweet, both, watch, song, event = answers(converted(tmp_path, ROWS))
    assert called(tweet) == [("@com.twitter.post", {"status": "good morning"})]
    assert called(both) == [("@com.gmail.inbox", {}), ("@com.twitter.post", {"status": "hi"})]
    assert [call["id"] for call in both["tool_calls"]] == ["call_0", "call_1"]
    assert watch["content"] == "monitor (@com.gmail.inbox()) => @com.spotify.pause()"
    assert song["content"] == "Sorry, I cannot help with that."
    assert event["content"] == "What is the event called?"


def test_what_real_rows_say_is_said_again_and_calls_fit_their_tools(tmp_path):
    chats = converted(tmp_path, real_rows())
    assert len(chats) == len(real_rows()) > 60
    sorts = {"calls": 0, "text": 0}
    for one, chat in zip(real_rows(), chats, strict=True):
        question, answer = chat["messages"]
        assert question == {"role": "user", "content": one.utterance}
        program = THINGTALK.from_tokens(one.program)
        if calls := called(answer):
            sorts["calls"] += 1
            told = [{"name": name, "arguments": arguments} for name, arguments in calls]
            assert told == THINGTALK.structure.calls(program)
            schemas = {tool["function"]["name"]: tool["function"] for tool in chat["tools"]}
            for name, arguments in calls:
                parameters = schemas[tool_name(name)]["parameters"]
                jsonschema.Draft202012Validator.check_schema(parameters)
                jsonschema.Draft202012Validator(parameters).validate(arguments)
        else:
            sorts["text"] += 1
            read_again = THINGTALK.canonical(THINGTALK.parse(answer["content"]), shipped())
            assert THINGTALK.tokens(read_again, shipped()) == one.program
    assert min(sorts.values()) > 20


def test_tools_have_names_that_lead_back_and_schemas_that_stand_alone(tmp_path):
    (chat,) = converted(tmp_path, [TWEET], "chat", "--tools", "all")
    functions = {f"@{function_name(name)}" for name in names(chat["tools"])}
    assert functions == {n for n in shipped().names() if not shipped().is_inherited(n)}
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in names(chat["tools"]))
    assert "$ref" not in json.dumps(chat["tools"])
    assert "$" not in "".join(tool["function"]["description"] for tool in chat["tools"])


@given(st.lists(st.text("ab._:-@ é", min_size=1, max_size=70), min_size=2, unique=True))
def test_no_two_functions_are_one_tool(functions):
    functions = {name.lstrip("@") for name in functions}
    tools = {tool_name(name) for name in functions}
    assert len(tools) == len(functions)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name) for name in tools if name)


def test_a_row_has_its_tools_and_as_many_others(tmp_path):
    most = sum(not shipped().is_inherited(name) for name in shipped().names())
    for others, number in ((0, 1), (3, 4), (1000, most)):
        tweet, song = converted(tmp_path, [TWEET, SONG], "chat", "--other-tools", str(others))
        assert len(tweet["tools"]) == len(song["tools"]) == number
        assert "com__twitter__post" in names(tweet["tools"])


def test_the_tools_of_a_row_depend_on_no_other_row_unless_those_in_use_are_asked_for(tmp_path):
    chats = converted(tmp_path, ROWS, "chat-hf")
    assert converted(tmp_path, ROWS[::-2], "chat-hf") == chats[::-2]
    assert len({json.dumps(chat["tools"]) for chat in chats}) == len(chats)
    chats = converted(tmp_path, ROWS, "chat", "--tools", "used")
    used = {"com__twitter__post", "com__gmail__inbox", "com__spotify__pause"}
    used.add("com__google__calendar__create_event")
    assert all(set(names(chat["tools"])) == used for chat in chats)


def test_rows_that_no_chat_can_hold_are_left_out_and_told(tmp_path, capsys):
    odd = Example("T8", "a", "now => ( => notify", functions=("@com.gmail.inbox",))
    chats = converted(tmp_path, [SLOTS, STRANGE, odd, SONG, TWEET])
    assert len(chats) == 2
    said = capsys.readouterr().err
    assert "1  placeholders (augment --written 1 --quoted 0" in said
    assert "1  functions that no skill has (--skills names them)" in said
    assert "1  a program that cannot be read" in said
    (kept,) = converted(tmp_path, [SLOTS], "chat", "--keep-placeholders")
    assert called(kept["messages"][-1]) == [("@com.twitter.post", {"status": "QUOTED_STRING_0"})]
    assert kept["messages"][0]["content"] == SLOTS.utterance


def test_system_and_refusal_are_settings_of_chats_alone(tmp_path, capsys):
    options = ("--system", "You are Almond.", "--refusal", "No.")
    for chat in converted(tmp_path, [SONG, TWEET], "chat", *options):
        assert chat["messages"][0] == {"role": "system", "content": "You are Almond."}
        assert chat["messages"][1]["role"] == "user"
    (chat, _) = converted(tmp_path, [SONG, TWEET], "chat-sharegpt", *options)
    assert [turn["from"] for turn in chat["conversations"]] == ["system", "human", "gpt"]
    assert chat["conversations"][-1]["value"] == "No."
    table = [str(tmp_path / "rows.jsonl"), str(tmp_path / "b.tsv")]
    for name, value in (("refusal", "No."), ("skills", str(tmp_path))):
        assert run(["data", "convert", *table, f"--{name}", value]) == 1
        assert f"error[D029]: {name} is of chats, and tsv is none" in capsys.readouterr().err


def test_the_shapes_say_the_same(tmp_path):
    shapes = {to: converted(tmp_path, ROWS, to) for to in CHATS if to.startswith("chat")}
    assert [chat["id"] for chat in shapes["chat-hf"]] == [one.id for one in ROWS]
    for plain, hub, share in zip(*shapes.values(), strict=True):
        assert plain["tools"] == hub["tools"]
        assert [tool["function"] for tool in hub["tools"]] == json.loads(share["tools"])
        answer, told = hub["messages"][-1], share["conversations"][-1]
        calls = [call["function"] for call in answer.get("tool_calls", ())]
        assert called(plain["messages"][-1]) == [
            (f"@{function_name(call['name'])}", call["arguments"]) for call in calls
        ]
        if calls:
            assert told["from"] == "function_call"
            assert json.loads(told["value"]) == (calls[0] if len(calls) == 1 else calls)
        else:
            assert told == {"from": "gpt", "value": answer["content"]}


def test_needle_has_the_calls_of_chats_and_no_other_programs(tmp_path, capsys):
    rows = [*ROWS, *real_rows()]
    chats = {chat["id"]: chat for chat in converted(tmp_path, rows, "chat-hf")}
    lines = converted(tmp_path, rows, "needle", "--system", "Be brief.")
    calling = [chat for chat in chats.values() if "tool_calls" in chat["messages"][-1]]
    refused = chats[SONG.id]
    assert len(lines) == len(calling) + 1
    assert f"{len(rows) - len(lines)}  programs that are no calls" in capsys.readouterr().err
    by_query = {line["query"]: line for line in lines}
    for chat in (*calling, refused):
        line = by_query[chat["messages"][0]["content"]]
        assert line["system"] == "Be brief."
        assert line["tools"] == [tool["function"] for tool in chat["tools"]]
        calls = chat["messages"][-1].get("tool_calls", ())
        assert line["answers"] == [call["function"] for call in calls]
    assert by_query[SONG.utterance]["answers"] == []


# As Google reads calls back in "Full function calling sequence with FunctionGemma".
CALL = re.compile(r"<start_function_call>call:(\w+)\{(.*?)\}<end_function_call>")
ARGUMENT = re.compile(r"(\w+):(?:<escape>(.*?)<escape>|([^,}]*))")


def arguments(text):
    return {name: said or json.loads(bare) for name, said, bare in ARGUMENT.findall(text)}


def test_functiongemma_calls_what_chats_call_and_else_says_the_same(tmp_path):
    rows = [*ROWS, *real_rows()]
    flat = 0
    for chat, line in zip(
        converted(tmp_path, rows, "chat-hf"),
        converted(tmp_path, rows, "functiongemma"),
        strict=True,
    ):
        question, answer = chat["messages"]
        prompt, completion = line["prompt"], line["completion"]
        assert f"\n<start_of_turn>user\n{question['content']}<end_of_turn>\n" in prompt
        declared = re.findall("<start_function_declaration>declaration:([^{]+)", prompt)
        assert declared == [word_of(name) for name in names(chat["tools"])]
        assert prompt.count("<escape>") % 2 == 0
        calls = [call["function"] for call in answer.get("tool_calls", ())]
        found = CALL.findall(completion)
        assert [name for name, _ in found] == [word_of(call["name"]) for call in calls]
        end = "<start_function_response>" if calls else f"{answer['content']}<end_of_turn>\n"
        assert CALL.sub("", completion) == end
        for (_, text), call in zip(found, calls, strict=True):
            if "{" not in text:  # the reader is of flat arguments
                assert arguments(text) == call["arguments"]
                flat += bool(call["arguments"])
    assert flat > 10


def test_expressions_call_tools_of_which_nothing_is_declared(tmp_path):
    program = "[ IN:GET_WEATHER [ SL:PLACE new york ] ]"
    weather = Example("E1", "weather in new york", program, "sexpr")
    (chat,) = converted(tmp_path, [weather], "chat-hf")
    (call,) = chat["messages"][-1]["tool_calls"]
    called = {"name": "IN--GET_WEATHER", "arguments": {"SL:PLACE": "new york"}}
    assert call["function"] == called
    assert names(chat["tools"]) == ["IN--GET_WEATHER"]


def test_a_folder_of_parts_becomes_a_folder_of_chats(tmp_path):
    rows = [row(f"R{n}", f"tweet {n}", TWEET.program) for n in range(40)]
    parts, chats = str(tmp_path / "parts"), str(tmp_path / "chats")
    assert run(["data", "split", str(write(tmp_path / "a.jsonl", rows)), "-o", parts]) == 0
    assert run(["data", "convert", parts, chats, "--to", "chat-sharegpt"]) == 0
    total = sum(len(read(tmp_path / "chats" / "data" / f"{part}.jsonl"))
                for part in ("train", "validation", "test"))  # fmt: skip
    assert total == 40
    card = (tmp_path / "chats" / "README.md").read_text()
    assert "| conversations |" in card
    assert "derivation" not in card
    told = json.loads((tmp_path / "chats" / "manifest.json").read_text())
    assert told["settings"]["refusal"] == "Sorry, I cannot help with that."


@pytest.mark.parametrize("to", CHATS)
def test_datasets_opens_chats_as_they_were_written(tmp_path, to, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    written = converted(tmp_path, [*ROWS, *real_rows()[:20]], to)
    opened = datasets.load_dataset(
        "json", data_files=str(tmp_path / f"{to}.chat.jsonl"), split="train",
        cache_dir=str(tmp_path / "cache"),
    )  # fmt: skip
    assert list(opened) == written


TEMPLATE = (
    "{% for tool in tools %}<tool>{{ tool.function.name }}{% endfor %}"
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}"
    "{% for call in message.tool_calls or () %}"
    "<call>{{ call.function.name }} {{ call.function.arguments | tojson }}"
    "{% endfor %}{% endfor %}"
)


def test_chat_templates_take_messages_and_tools(tmp_path):
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models

    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel()))
    tweet, *_, song, _ = converted(tmp_path, ROWS, "chat-hf", "--other-tools", "0")

    def text(chat):
        return tokenizer.apply_chat_template(
            chat["messages"], tools=chat["tools"], chat_template=TEMPLATE, tokenize=False
        )

    assert text(tweet) == (
        "<tool>com__twitter__post<user>tweet good morning<assistant>"
        '<call>com__twitter__post {"status": "good morning"}'
    )
    said = "<user>sing me a song<assistant>Sorry, I cannot help with that."
    assert text(song).endswith(said)
