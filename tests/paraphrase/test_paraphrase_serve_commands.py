"""The commands that serve paraphrase tasks and export what was written."""

import csv
import json
import signal
import sys
import threading
import time

import httpx2
import pytest

from genie_dp import cli
from genie_dp.paraphrase.shown import show
from genie_dp.serve.answer_store import read_store
from tests.paraphrase.paraphrase_rows import row
from tests.paraphrase.serve_pages import ROWS, TWO, enter, key, send
from tests.paraphrase.serve_process import ServerProcess, write_chosen


@pytest.fixture
def chosen(tmp_path):
    return write_chosen(tmp_path / "chosen.jsonl", ROWS)


def browser_of(server):
    return httpx2.Client(base_url=server.url.partition("?")[0], follow_redirects=True)


@pytest.mark.slow
def test_what_was_sent_outlives_a_kill_and_is_collected(chosen, tmp_path, capsys):
    database, results = tmp_path / "new" / "a.sqlite", tmp_path / "results.csv"
    export = ["data", "paraphrase", "export", str(database), "--output", str(results)]
    with ServerProcess(chosen, database) as server, browser_of(server) as browser:
        enter(browser, "Ada")
        assert send(browser, TWO).status_code == 303
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    assert cli.run(export) == 0
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
    assert cli.run(export) == 1
    assert "Y022" in capsys.readouterr().err
    assert cli.run([*export, "--overwrite"]) == 0
    cells = next(iter(csv.DictReader(results.open(newline=""))))
    assert cells["Answer.Paraphrase2-1"].startswith("'=share")
    rows = tmp_path / "rows.jsonl"
    collect = [
        "data",
        "paraphrase",
        "collect",
        str(results),
        "--chosen",
        str(chosen),
        "-o",
        str(rows),
    ]
    assert cli.run(collect) == 0
    made = [json.loads(line) for line in rows.read_text().splitlines()]
    assert [(m["parent"], m["source"]) for m in made] == [
        (parent, "paraphrase") for parent in ("S2", "S2", "S3", "S3")
    ]


@pytest.mark.slow
def test_a_page_for_others_says_what_that_means(chosen, tmp_path):
    with ServerProcess(chosen, tmp_path / "a.sqlite", "--host", "0.0.0.0") as server:
        assert server.said[0].startswith("warning: others in the network")
        assert "?token=" in server.url
        address = f"http://127.0.0.1:{server.port}/"
        assert httpx2.get(address).status_code == 403
        query = server.url.partition("?")[2]
        with httpx2.Client(follow_redirects=True) as browser:
            assert "Your name" in browser.get(f"{address}?{query}").text


def test_a_missing_library_is_told_before_anything_is_opened(chosen, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    database = tmp_path / "a.sqlite"
    assert cli.run(["data", "paraphrase", "serve", str(chosen), "--database", str(database)]) == 1
    said = capsys.readouterr().err
    assert "P200" in said
    assert "pip install 'genie_dp[serve]'" in said
    assert not database.exists()


WRITERS = ("Ada", "Bob", "Cy")


def write_until_it_is_gone(url, name, kept):
    """Send one answer after the other; `kept` gets each that the server has acknowledged."""
    with httpx2.Client(base_url=url, follow_redirects=True, timeout=10) as browser:
        enter(browser, name)
        try:
            while True:
                at = key(browser)
                texts = f"give me what {name} put into folder {at}", f"folder {at} by {name} please"
                answer = send(browser, texts, at=at)
                assert answer.status_code == 303, answer.text
                kept.append(texts)
        except httpx2.TransportError:
            return


@pytest.mark.slow
def test_no_acknowledged_answer_is_lost_when_the_server_is_killed(tmp_path):
    rows = [show(row(f"S{n}", f"list my files of day {n}"), {}) for n in range(400)]
    chosen, database = write_chosen(tmp_path / "chosen.jsonl", rows), tmp_path / "a.sqlite"
    kept = {name: [] for name in WRITERS}
    for enough in (5, 10, 15):
        with ServerProcess(chosen, database, "--any-language") as server:
            threads = [
                threading.Thread(target=write_until_it_is_gone, args=(server.url, name, own))
                for name, own in kept.items()
            ]
            for thread in threads:
                thread.start()
            while min(map(len, kept.values())) < enough and any(t.is_alive() for t in threads):
                time.sleep(0.01)
            server.end(signal.SIGKILL)
            for thread in threads:
                thread.join(timeout=20)
                assert not thread.is_alive()
        store = read_store(database)
        there = {name: [answer.texts for answer in store.answers(name)] for name in WRITERS}
        store.close()
        for name, own in kept.items():
            assert len(own) >= enough
            assert set(own) <= set(there[name])
            # At most one answer a kill was on disk before anybody could be told.
            assert len(there[name]) <= len(own) + 3
