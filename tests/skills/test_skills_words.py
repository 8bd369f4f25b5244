import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.skills.words import join_tokens, tokenize
from tests.golden import cases


@pytest.mark.parametrize("case", cases("skills/tokens.txt"), ids=str)
def test_a_text_is_split_into_tokens(case, golden):
    golden(case, " ".join(tokenize(case.input)))


def bare(text: str) -> str:
    return re.sub(r"\s+", "", text).casefold().replace("’", "'")


@given(st.text())
def test_nothing_but_white_space_is_lost(text):
    assert bare("".join(tokenize(text))) == bare(text)


@given(st.text(alphabet="ab c'’.,-@#$ 1:{}_/", max_size=30))
def test_tokens_hold_no_white_space_outside_of_braces(text):
    assert all(token and (not re.search(r"\s", token) or "{" in token) for token in tokenize(text))


@given(st.text(alphabet="asd c'’.,-@#$ 1:{}_/&+%", max_size=20))
def test_tokens_that_were_split_stay_split(text):
    assert join_tokens(join_tokens(text)) == join_tokens(text)
