"""Sentences of many requests in one batch: which go together, and who gets what."""

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.serve.parse_batches import (
    BatchConfig,
    Batcher,
    ClosedError,
    ParseWays,
    QueueFullError,
)
from genie_dp.serve.parse_rate import Buckets, RateConfig, network_of
from tests.serve.serve_parsers import EchoParser, FailingParser, GatedParser, reply_of

ONE, THREE = ParseWays(), ParseWays(3)


@pytest.fixture
def parser():
    return GatedParser()


@pytest.fixture
def batcher(parser):
    made = Batcher(parser, BatchConfig(size=4, wait=0, most_waiting=10))
    yield made
    parser.go.set()
    made.close(20)


def held(batcher, parser):
    """Let the thread begin with a sentence of its own, so that what follows must wait."""
    [future] = batcher.submit(["first"], ONE)
    assert parser.begun.wait(20)
    return future


def results(futures):
    return [future.result(20) for future in futures]


def test_what_waits_is_parsed_together_in_its_order(batcher, parser):
    first = held(batcher, parser)
    futures = (
        batcher.submit(["a", "b"], ONE) + batcher.submit(["c"], ONE) + batcher.submit(["d"], ONE)
    )
    futures += batcher.submit(["e"], ONE)
    parser.go.set()
    assert results([first, *futures]) == [reply_of(s, 1) for s in ("first", *"abcde")]
    assert parser.batches == [(("first",), 1), (tuple("abcd"), 1), (("e",), 1)]


def test_a_sentence_waits_for_others_until_the_batch_is_full():
    parser = EchoParser()
    batcher = Batcher(parser, BatchConfig(size=3, wait=3600))
    futures = batcher.submit(["a"], ONE) + batcher.submit(["b"], ONE)
    assert batcher.waiting == 2
    futures += batcher.submit(["c"], ONE)
    results(futures)
    assert parser.batches == [(("a", "b", "c"), 1)]
    batcher.close(20)

    batcher = Batcher(parser, BatchConfig(size=100, wait=0.001))
    results(batcher.submit(["alone"], ONE))
    assert parser.batches[1:] == [(("alone",), 1)]
    batcher.close(20)


def test_a_batch_has_one_count_so_that_no_reply_depends_on_others(batcher, parser):
    held(batcher, parser)
    futures = batcher.submit(["a"], ONE) + batcher.submit(["b"], THREE) + batcher.submit(["c"], ONE)
    parser.go.set()
    assert results(futures) == [reply_of("a", 1), reply_of("b", 3), reply_of("c", 1)]
    assert parser.batches[1:] == [(("a", "c"), 1), (("b",), 3)]


def test_what_nobody_waits_for_any_more_is_not_parsed(batcher, parser):
    held(batcher, parser)
    gone, *kept = batcher.submit(["a", "b"], ONE)
    assert gone.cancel()
    parser.go.set()
    assert results(kept) == [reply_of("b", 1)]
    assert parser.batches[1:] == [(("b",), 1)]
    with pytest.raises(CancelledError):
        gone.result(0)


def test_a_full_queue_refuses_all_sentences_of_a_request(batcher, parser):
    held(batcher, parser)
    futures = batcher.submit([f"s{n}" for n in range(8)], ONE)
    with pytest.raises(QueueFullError):
        batcher.submit(["x", "y", "z"], ONE)
    assert batcher.waiting == 8
    futures[0].cancel()
    more = batcher.submit(["x", "y", "z"], ONE)  # the cancelled one makes room
    parser.go.set()
    assert results(more) == [reply_of(s, 1) for s in "xyz"]


def test_one_sentence_that_fails_leaves_the_others_of_its_batch_alone():
    parser = FailingParser()
    batcher = Batcher(parser, BatchConfig(size=3, wait=3600))
    good, bad, other = batcher.submit(["good", "bad", "other"], ONE)
    assert results([good, other]) == [reply_of("good", 1), reply_of("other", 1)]
    with pytest.raises(ValueError, match="cannot read bad"):
        bad.result(20)
    assert batcher.is_ready
    batcher.close(20)


def test_a_parser_that_loses_replies_is_told():
    class Losing(EchoParser):
        def parse(self, sentences, *, count=1, context=None, names=None):
            return super().parse(sentences, count=count, context=context, names=names)[1:]

    batcher = Batcher(Losing(), BatchConfig(wait=0))
    with pytest.raises(RuntimeError, match="expected 1 replies of the parser, got 0"):
        batcher.submit(["a"], ONE)[0].result(20)
    batcher.close(20)


def test_closing_finishes_what_waits_and_takes_nothing_more(batcher, parser):
    first = held(batcher, parser)
    futures = batcher.submit(list("abcdef"), ONE)
    closing = threading.Thread(target=batcher.close)
    closing.start()
    while batcher.is_ready:
        pass
    with pytest.raises(ClosedError):
        batcher.submit(["late"], ONE)
    parser.go.set()
    closing.join(20)
    assert not closing.is_alive()
    assert all(future.done() for future in (first, *futures))
    assert results(futures) == [reply_of(s, 1) for s in "abcdef"]


@settings(max_examples=25, deadline=None)
@given(
    requests=st.lists(
        st.tuples(st.lists(st.text(max_size=5), min_size=1, max_size=6), st.integers(1, 3)),
        min_size=1,
        max_size=20,
    ),
    size=st.integers(1, 8),
    threads=st.integers(1, 8),
)
def test_everybody_gets_the_replies_to_their_own_sentences(requests, size, threads):
    parser = EchoParser()
    batcher = Batcher(parser, BatchConfig(size=size, wait=0.0005))

    def ask(request):
        sentences, count = request
        return results(batcher.submit(sentences, ParseWays(count)))

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(ask, requests))
    batcher.close(20)
    assert found == [[reply_of(s, count) for s in sentences] for sentences, count in requests]
    assert all(len(sentences) <= size for sentences, _ in parser.batches)
    assert sum(len(s) for s, _ in parser.batches) == sum(len(s) for s, _ in requests)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@settings(deadline=None)
@given(
    asked=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 10)), max_size=40),
    rate=st.floats(0.1, 20),
    burst=st.integers(10, 30),
)
def test_no_address_gets_more_than_burst_and_rate(asked, rate, burst):
    clock = Clock()
    buckets = Buckets(RateConfig(rate=rate, burst=burst), clock)
    given_ = 0
    for pause, sentences in asked:
        clock.now += pause
        wait = buckets.take("192.0.2.7", sentences)
        given_ += 0 if wait else sentences
        assert given_ <= burst + rate * clock.now + 1e-6
        if wait:
            # As long as it said, and it is let in.
            clock.now += wait + 1e-9
            assert not buckets.take("192.0.2.7", sentences)
            given_ += sentences


def test_addresses_do_not_share_a_bucket_but_a_household_does_and_this_machine_has_none():
    buckets = Buckets(RateConfig(rate=1, burst=2), Clock())
    assert not buckets.take("192.0.2.7", 2)
    assert not buckets.take("192.0.2.8", 2)
    assert not buckets.take("2001:db8::1", 2)
    assert buckets.take("2001:db8::2", 1) == 1
    assert network_of("fe80::1%eth0") == "fe80::/64"

    # Only so many addresses are remembered.
    buckets = Buckets(RateConfig(rate=1, burst=2, most_addresses=3), Clock())
    for n in range(10):
        buckets.take(f"192.0.2.{n}", 2)
    assert len(buckets) == 3
    assert buckets.take("192.0.2.9", 1)

    # Programs of this machine are spared unless a rate is named.
    assert not Buckets(RateConfig(rate=1, burst=1), Clock()).take("127.0.0.1", 100)
    assert Buckets(RateConfig.for_everybody(1), Clock()).take("::1", 100)
    assert not Buckets(RateConfig.for_everybody(0), Clock()).take("192.0.2.7", 10**6)
