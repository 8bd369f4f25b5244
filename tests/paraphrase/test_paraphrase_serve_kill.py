"""A server that is killed while several people send: what it said is kept is there."""

import re
import signal
import threading
import time

import httpx2
import pytest

from genie_dp.paraphrase.shown import show
from genie_dp.serve.answer_store import read_store
from tests.paraphrase.paraphrase_rows import row
from tests.paraphrase.serve_process import ServerProcess, write_chosen

WRITERS = ("Ada", "Bob", "Cy")


def write_until_it_is_gone(url, name, kept):
    """Send one answer after the other; `kept` gets each that the server has acknowledged."""
    with httpx2.Client(base_url=url, follow_redirects=True, timeout=10) as browser:
        page = browser.get("/").text
        token = re.search(r'name="token" value="([\w-]+)"', page)[1]
        page = browser.post("/worker", data={"token": token, "name": name}).text
        while True:
            key = re.search(r'data-key="(\d+)"', page)[1]
            texts = (f"give me what {name} put into folder {key}", f"folder {key} by {name} please")
            fields = {"token": token, "text1": texts[0], "text2": texts[1]}
            try:
                answer = browser.post(f"/sentences/{key}", data=fields, follow_redirects=False)
                assert answer.status_code == 303, answer.text
                kept.append(texts)
                page = browser.get("/").text
            except httpx2.TransportError:
                return


@pytest.mark.slow
def test_no_acknowledged_answer_is_lost_when_the_server_is_killed(tmp_path):
    rows = [show(row(f"S{n}", f"list my files of day {n}"), {}) for n in range(2000)]
    chosen, database = write_chosen(tmp_path / "chosen.jsonl", rows), tmp_path / "a.sqlite"
    kept = {name: [] for name in WRITERS}
    for enough in (10, 20, 30):
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
