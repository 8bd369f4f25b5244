"""The commands that serve paraphrase tasks and export what was written."""

import csv
import json
import signal
import sys

import httpx2
import pytest

from genie_dp import cli
from tests.paraphrase.serve_pages import ROWS, TWO, enter, key, send
from tests.paraphrase.serve_process import ServerProcess, write_chosen


@pytest.fixture
def chosen(tmp_path):
    return write_chosen(tmp_path / "chosen.jsonl", ROWS)


def browser_of(server):
    return httpx2.Client(base_url=server.url.partition("?")[0], follow_redirects=True)


def test_what_was_sent_outlives_a_kill_and_is_collected(chosen, tmp_path, capsys):
    database, results = tmp_path / "new" / "a.sqlite", tmp_path / "results.csv"
    with ServerProcess(chosen, database) as server, browser_of(server) as browser:
        enter(browser, "Ada")
        assert send(browser, TWO).status_code == 303
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    assert cli.run(["paraphrase", "export", str(database), "--output", str(results)]) == 0
    with ServerProcess(chosen, database, port=server.port) as server, browser_of(server) as again:
        assert server.said[0] == f"3 sentences, 1 answer of 1 person in {database}"
        again.cookies = browser.cookies
        assert "1 of 3" in again.get("/").text
        at = key(again)
        texts = (
            '=share "good morning" from @bob with #sun at 8:30 am',
            '@bob wants "good morning" sent around with #sun at 8:30 am',
        )
        assert send(again, texts, at=at).status_code == 303
        assert server.end(signal.SIGINT) == 0
        assert server.said[-1] == f"2 answers of 1 person in {database}"
    command = ["paraphrase", "export", str(database), "--output", str(results)]
    assert cli.run(command) == 1
    assert "Y022" in capsys.readouterr().err
    assert cli.run([*command, "--overwrite"]) == 0
    cells = next(iter(csv.DictReader(results.open(newline=""))))
    assert cells["Answer.Paraphrase2-1"].startswith("'=share")
    rows = tmp_path / "paraphrases.jsonl"
    assert (
        cli.run(["paraphrase", "collect", str(results), "--chosen", str(chosen), "-o", str(rows)])
        == 0
    )
    made = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [(m["parent"], m["source"]) for m in made] == [("S2", "paraphrase")] * 2 + [
        ("S3", "paraphrase")
    ] * 2


def test_a_page_for_others_says_what_that_means(chosen, tmp_path):
    with ServerProcess(chosen, tmp_path / "a.sqlite", "--host", "0.0.0.0") as server:
        assert server.said[0].startswith("warning: others in the network")
        assert "?token=" in server.url
        address = f"http://127.0.0.1:{server.port}/"
        assert httpx2.get(address).status_code == 403
        query = server.url.partition("?")[2]
        with httpx2.Client(follow_redirects=True) as browser:
            assert "Your name" in browser.get(f"{address}?{query}").text


def run_serve(chosen, tmp_path, *options):
    return cli.run(
        ["paraphrase", "serve", str(chosen), "--database", str(tmp_path / "a.sqlite"), *options]
    )


def test_a_file_without_sentences_is_a_mistake(tmp_path, capsys):
    empty = write_chosen(tmp_path / "empty.jsonl", ())
    assert run_serve(empty, tmp_path) == 1
    assert "P205" in capsys.readouterr().err


def test_a_missing_extra_is_named(chosen, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run_serve(chosen, tmp_path) == 1
    said = capsys.readouterr().err
    assert "P200" in said
    assert "pip install 'genie_dp[serve]'" in said


def test_wrong_usage_is_said_before_anything_is_opened(chosen, tmp_path):
    assert run_serve(chosen, tmp_path, "--worker", "=1") == 2
    assert run_serve(chosen, tmp_path, "--any-language", "--language-model") == 2
    assert not (tmp_path / "a.sqlite").exists()


def test_an_export_of_nothing_is_a_mistake(tmp_path, capsys):
    assert cli.run(["paraphrase", "export", str(tmp_path / "no.sqlite")]) == 1
    assert "R001" in capsys.readouterr().err
