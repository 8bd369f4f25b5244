"""A parser asked by OpenAI's own client, and by hand where no client would."""

import json

import openai
import pytest
from starlette.testclient import TestClient

from genie_dp.serve.hosts import rule_for
from genie_dp.serve.parse_batches import BatchConfig
from genie_dp.serve.parse_openai import openai_app
from genie_dp.serve.parse_rate import RateConfig
from genie_dp.serve.parse_service import RequestBounds
from tests.serve.serve_parsers import HOST, FailingParser, GatedParser, ToolParser

CHAT = "/v1/chat/completions"


@pytest.fixture
def parser():
    return ToolParser()


def browser_of(service):
    app = openai_app(service, hosts=rule_for("127.0.0.1"))
    return TestClient(app, base_url=HOST, raise_server_exceptions=False)


@pytest.fixture
def browser(serving, parser):
    return browser_of(serving(parser))


def client_of(service):
    return openai.OpenAI(
        base_url=f"{HOST}/v1", api_key="none", http_client=browser_of(service), max_retries=0
    )


@pytest.fixture
def client(serving, parser):
    return client_of(serving(parser))


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def tool(name, *parameters):
    function = {"name": name}
    if parameters:
        function["parameters"] = {"type": "object", "properties": dict.fromkeys(parameters, {})}
    return {"type": "function", "function": function}


def ask(client, *messages, **options):
    """Return why the answer ends, its text, and its calls."""
    answer = client.chat.completions.create(model="tiny", messages=[*messages], **options)
    [choice] = answer.choices
    calls = [
        (call.function.name, json.loads(call.function.arguments))
        for call in choice.message.tool_calls or ()
    ]
    return choice.finish_reason, choice.message.content, calls


# ------------------------------------------------------------------------------------ answers


def test_the_last_sentence_is_answered_with_calls_and_what_is_no_user_left_out(client, parser):
    said = [{"role": "system", "content": "be brief"}, user("zork"), assistant("no"),
            user([{"type": "text", "text": "hall light"}])]  # fmt: skip
    assert ask(client, *said) == ("tool_calls", None, [("lights.set", {"room": "hall"})])
    assert [sentences for sentences, *_ in parser.batches] == [("hall light",)]


def test_parallel_calls_have_ids_of_their_own(client):
    answer = client.chat.completions.create(model="tiny", messages=[user("all lights")])
    ids = [call.id for call in answer.choices[0].message.tool_calls]
    assert len(set(ids)) == 2
    usage = answer.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (2, 4, 6)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("zork", "I do not know: the skills can do nothing of the kind. [out_of_scope]"),
        ("heat", "How warm? [missing_input]"),
        ("when it rains",
         "I understand this, but it cannot be said as calls of tools: it is more than that. "
         "program of when it rains [not_in_form]"),
    ],
)  # fmt: skip
def test_what_is_no_call_is_refused_in_text(client, sentence, text):
    assert ask(client, user(sentence)) == ("stop", text, [])


def test_earlier_turns_give_the_question_that_is_answered(client):
    asked = assistant(ask(client, user("heat"))[1])
    calls = [("heat", {"degrees": 21})]
    assert ask(client, user("heat"), asked, user("21")) == ("tool_calls", None, calls)
    # What is no reply is asked again, and then answered.
    assert ask(client, user("heat"), asked, user("heat"), asked, user("9"))[2] != calls
    assert ask(client, user("heat"), assistant("How warm?"), user("21"))[0] == "stop"


def test_questions_are_followed_back_so_far_and_no_further(client, parser):
    turns = [user("heat"), assistant("How warm? [missing_input]")] * 50
    ask(client, *turns, user("21"))
    assert len(parser.batches) == 9


@pytest.mark.parametrize(
    ("tools", "is_taken"),
    [
        (None, True),
        ([], False),
        ([tool("lights.set")], True),
        ([tool("lights_set", "room")], True),
        ([tool("lights_set", "level")], False),
        ([tool("send"), tool("find")], False),
    ],
)
def test_only_offered_tools_are_called(client, tools, is_taken):
    options = {} if tools is None else {"tools": tools}
    reason, text, calls = ask(client, user("hall light"), **options)
    assert (reason == "tool_calls") is is_taken
    if is_taken:
        assert calls[0][0] == (tools[0]["function"]["name"] if tools else "lights.set")
    else:
        assert "no tool of the request takes" in text
        assert text.endswith("[not_offered]")


@pytest.mark.parametrize(
    ("choice", "is_taken"),
    [
        ("auto", True),
        ("required", True),
        ("none", False),
        ({"type": "function", "function": {"name": "lights.set"}}, True),
        ({"type": "function", "function": {"name": "send"}}, False),
    ],
)
def test_a_choice_of_tools_is_kept(client, choice, is_taken):
    tools = [tool("lights.set"), tool("send")]
    reason, *_ = ask(client, user("hall light"), tools=tools, tool_choice=choice)
    assert (reason == "tool_calls") is is_taken


def agent(client, sentence, results, **options):
    """Go on until there is no call any more; return all calls and the last text."""
    messages, made = [user(sentence)], []
    while True:
        answer = client.chat.completions.create(model="tiny", messages=messages, **options)
        message = answer.choices[0].message
        if not message.tool_calls:
            return made, message.content
        messages.append(message.model_dump(exclude_none=True))
        for call in message.tool_calls:
            made.append((call.function.name, json.loads(call.function.arguments)))
            content = results[call.function.name]
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def test_calls_that_wait_for_results_are_made_one_step_after_the_other(client):
    results = {"find": '{"mails": ["a@b.org"]}', "send": "sent"}
    made, text = agent(client, "mail tea", results)
    assert made == [("find", {"words": ["tea"]}), ("send", {"to": "a@b.org"})]
    assert text == '{"mails": ["a@b.org"]}\nsent'
    # A result without its part ends in text.
    made, text = agent(client, "mail tea", {"find": "nothing"})
    assert made == [("find", {"words": ["tea"]})]
    assert text == (
        "I cannot go on: the result of call 1 has no 'mails', which $1.mails.0 takes [no_result]"
    )


def test_calls_come_one_by_one_where_that_is_asked_for(client):
    made, _ = agent(client, "all lights", {"lights.set": "ok"}, parallel_tool_calls=False)
    assert [arguments["room"] for _, arguments in made] == ["hall", "den"]


def test_names_of_whoever_asks_are_those_of_the_server_and_of_the_request(serving, parser):
    client = client_of(serving(parser, names={"room": ["attic"]}))
    ask(client, user("zork"), extra_body={"names": {"room": ["den"]}})
    assert parser.batches[0][2] == {"room": ["attic", "den"]}


# ------------------------------------------------------------------------------------ streams


def test_a_stream_has_calls_whole_and_ends_with_usage(client):
    stream = client.chat.completions.create(
        model="tiny", messages=[user("all lights")], stream=True,
        stream_options={"include_usage": True},
    )  # fmt: skip
    *chunks, last = stream
    assert last.usage.total_tokens == 6
    deltas = [chunk.choices[0].delta for chunk in chunks]
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert [call.index for call in calls] == [0, 1]
    assert json.loads(calls[1].function.arguments) == {"room": "den", "level": 40}
    assert [c.choices[0].finish_reason for c in chunks] == [None, None, None, "tool_calls"]


def test_a_stream_of_text_is_the_text_and_ends_as_events_do(client, browser):
    stream = client.chat.completions.create(model="tiny", messages=[user("zork")], stream=True)
    chunks = [*stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == ask(client, user("zork"))[1]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len({chunk.id for chunk in chunks}) == 1
    body = {"model": "tiny", "messages": [user("zork")], "stream": True}
    answer = browser.post(CHAT, json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text.endswith("\n\ndata: [DONE]\n\n")


# --------------------------------------------------------------------------- models, refusals


def test_the_one_model_is_listed(client):
    [model] = client.models.list()
    assert (model.id, model.owned_by) == ("tiny", "genie-dp")
    assert client.models.retrieve("tiny").id == "tiny"
    with pytest.raises(openai.NotFoundError) as caught:
        client.models.retrieve("big")
    assert caught.value.code == "W012"


def refused(client, error, code, *messages, **options):
    options = {"model": "tiny", "messages": [*messages], **options}
    with pytest.raises(error) as caught:
        client.chat.completions.create(**options)
    assert caught.value.code == code
    return caught.value.body["message"]


@pytest.mark.parametrize(
    ("messages", "options", "code", "message"),
    [
        ([user("")], {}, "W004", "the sentence is empty"),
        ([user("a " * 65)], {}, "W004", "65 words and signs, more than 64"),
        ([assistant("hm")], {}, "W003", "messages: there is none of a user"),
        ([], {}, "W003", "messages: List should have at least 1 item"),
        ([{"role": "wizard", "content": "x"}], {}, "W003", "messages.0.role: Input should be"),
        ([user([{"type": "image_url"}])], {}, "W003",
         "messages.0.content: only parts that are text"),
        ([user("a")], {"n": 2}, "W003", "n: Input should be less than or equal to 1"),
        ([user("a")], {"tool_choice": "any"}, "W003", "tool_choice: expected one of none"),
        ([user("a")], {"extra_body": {"names": {"room": "x"}}}, "W003", "names.room: Input should"),
        ([user("a"), {"role": "assistant", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}],
         {}, "W003", "messages: call 'c1' has no result"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused_by_its_place(client, messages, options, code, message):
    wrong = openai.UnprocessableEntityError
    assert message in refused(client, wrong, code, *messages, **options)


def test_another_model_is_not_there(client):
    message = refused(client, openai.NotFoundError, "W012", user("a"), model="gpt")
    assert message == "there is no model 'gpt' here: ask for 'tiny'"


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, "W001"),
        ({"content": b"[]", "headers": {"Content-Type": "application/json"}}, 400, "W001"),
        ({"content": b"{}"}, 415, "W001"),
        ({"content": b"x" * 140_000}, 413, "W002"),
        ({"json": {}, "headers": {"Host": "evil.example"}}, 421, "W010"),
        ({"json": {}, "headers": {"Origin": "http://evil.example"}}, 403, "W011"),
    ],
)  # fmt: skip
def test_every_refusal_has_the_shape_of_openai(browser, request_, status, code):
    answer = browser.post(CHAT, **request_)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["code"], error["type"]) == (code, "invalid_request_error")
    assert "/docs" not in error["message"]


def test_other_paths_and_methods_are_refused(browser):
    assert browser.get("/v1/embeddings").json()["error"]["code"] == "W012"
    assert browser.get(CHAT).status_code == 405
    assert browser.get("/health").json()["model"] == "tiny"


def test_limits_are_those_of_the_service(serving, parser):
    client = client_of(serving(parser, rate=RateConfig(1, 1, spares_loopback=False)))
    ask(client, user("zork"))
    refused(client, openai.RateLimitError, "W005", user("zork"))
    refused(client, openai.RateLimitError, "W005")  # nor what is wrong


def test_a_full_queue_and_a_slow_parser_are_told(serving):
    parser = GatedParser()
    service = serving(parser, batches=BatchConfig(1, 0, 1), limits=RequestBounds(deadline=0.05))
    client = client_of(service)
    refused(client, openai.InternalServerError, "W007", user("a"))
    parser.go.set()
    service.close(20)
    refused(client, openai.InternalServerError, "W008", user("a"))


def test_a_failing_parser_is_a_mistake_of_ours(serving):
    client = client_of(serving(FailingParser()))
    assert "cannot read" not in refused(client, openai.InternalServerError, "W009", user("bad"))
