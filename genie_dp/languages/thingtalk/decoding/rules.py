"""Rules and policies: the whole of a program."""

from collections.abc import Sequence

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame
from genie_dp.languages.terms.frames import Choice
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, QueryFacts, ScopeNames
from genie_dp.languages.thingtalk.decoding.conditions import (
    Arguments,
    ConditionScope,
    condition,
    predicate,
)
from genie_dp.languages.thingtalk.decoding.statements import (
    Flow,
    QueryPlace,
    query_frame,
    stream_frame,
)
from genie_dp.languages.thingtalk.operators import CONTACT


def start(catalogue: Catalogue, count: int) -> Frame:
    """Return the first token of a rule, or `policy` at the beginning.

    There are streams, and `now` where there is something to do.
    """
    automaton, make = catalogue.automaton, catalogue.automaton.make
    stream = make(stream_frame, catalogue, 0)
    words = {"now"} if catalogue.functions else set()
    if count == 1:
        words.add("policy")

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "policy":
            person = catalogue.scope({"source": CONTACT})
            source = ConditionScope(
                catalogue, person, person, catalogue.empty, False, 0, takes_text=True
            )
            return *predicate(source), automaton.token(":"), make(_policy_start, catalogue)
        end = make(_rule_end, catalogue, count)
        if token == "now":
            return automaton.token("=>"), make(_rule_body, catalogue, catalogue.empty, False), end
        frames, _ = stream.take(token, sentence)
        return *frames, automaton.after(_after_stream, catalogue), end

    return Choice(stream.fixed | words, following, closing=frozenset(words) or None)


def _after_stream(catalogue: Catalogue, stream: Flow) -> Sequence[Frame]:
    """Go on after the stream of a rule with its query or action."""
    automaton = catalogue.automaton
    return automaton.token("=>"), automaton.make(_rule_body, catalogue, stream.scope, True)


def _rule_end(catalogue: Catalogue, count: int) -> Frame:
    """Return a semicolon and another rule, or the end."""
    fixed = frozenset((";",)) if count < catalogue.limits.rules else NOTHING
    return Choice(
        fixed,
        lambda token, sentence: (catalogue.automaton.make(start, catalogue, count + 1),),
        closing=NOTHING,
        skips=True,
    )


def _rule_body(catalogue: Catalogue, scope: ScopeNames, is_event: bool) -> Frame:
    """Return the part after `now =>` or a stream: a query, an action, `notify` of a stream."""
    automaton = catalogue.automaton
    query = automaton.make(query_frame, QueryPlace(catalogue, scope, False, is_event, 0))
    action = automaton.make(_action, catalogue, scope, is_event)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token in action.fixed:
            return action.take(token, sentence)[0]
        frames, _ = query.take(token, sentence)
        return *frames, automaton.after(_after_body, catalogue, scope)

    closing = action.fixed if is_event else query.closing | action.fixed
    return Choice(query.fixed | action.fixed, following, closing=closing)


def _after_body(catalogue: Catalogue, scope: ScopeNames, query: QueryFacts) -> Sequence[Frame]:
    """Go on after the query of a rule with the action."""
    automaton, scope = catalogue.automaton, catalogue.under(scope, query.scope)
    return automaton.token("=>"), automaton.make(_action, catalogue, scope, True)


def _action(catalogue: Catalogue, scope: ScopeNames, is_event: bool) -> Frame:
    """Return `notify` where something has happened, or the function that acts."""

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "notify":
            return ()
        function = catalogue.by_token[token]
        return (catalogue.automaton.make(Arguments, catalogue, function, scope, is_event),)

    words = frozenset(("notify",)) if is_event else NOTHING
    functions = {f.token for f in catalogue.actions}
    return Choice(words | functions, following, closing=words or None)


# ------------------------------------------------------------------------------- policies


def _policy_start(catalogue: Catalogue) -> Frame:
    """Return `now =>` and a query or an action, or a query and an action."""
    automaton, make = catalogue.automaton, catalogue.automaton.make
    query = make(_subject, catalogue, ("query",))

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        arrow = automaton.token("=>")
        if token == "now":
            either = make(_subject, catalogue, ("query", "action"))
            return arrow, either, automaton.after(_after_subject)
        frames, _ = query.take(token, sentence)
        action = make(_subject, catalogue, ("action",))
        return *frames, automaton.after(_after_queried, arrow, action)

    return Choice(query.fixed | {"now"}, following, closing=frozenset(("now",)))


def _after_queried(arrow: Frame, action: Frame, kinds: tuple[str, ...]) -> Sequence[Frame]:
    """Go on after the query of a policy with its action."""
    return arrow, action


def _after_subject(kinds: tuple[str, ...]) -> Sequence[Frame]:
    """Go on with `=> notify` after a query, with nothing after an action."""
    fixed = frozenset(("=>",)) if "query" in kinds else NOTHING
    skips = "action" in kinds
    closing = NOTHING if skips else fixed
    notify = Frame(frozenset(("notify",)))
    return (Choice(fixed, lambda token, sentence: (notify,), closing=closing, skips=skips),)


def _subject(catalogue: Catalogue, kinds: tuple[str, ...]) -> Frame:
    """Return the functions of a policy: `*`, `@c.*` or a function; leaves the kinds it may be."""
    automaton = catalogue.automaton
    classes = {f"@{name}.*" for name in catalogue.library.class_names()}
    functions = {f.token for f in catalogue.functions if f.signature.kind in kinds}

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        function = catalogue.by_token.get(token)
        if function is None:  # all functions, or those of a class, have no filter
            return (automaton.give(kinds),)
        kind = (function.signature.kind,)
        return (automaton.make(_subject_filter, catalogue, function.parameters, kind),)

    return Choice(frozenset({"*"} | classes | functions), following, closing=frozenset("*"))


def _subject_filter(catalogue: Catalogue, fields: ScopeNames, kinds: tuple[str, ...]) -> Frame:
    """Return a condition on the parameters of a policy's function, or none."""

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        of = condition(catalogue, fields, catalogue.empty, False, 0)
        return *predicate(of), catalogue.automaton.give(kinds)

    return Choice(frozenset(("filter",)), following, closing=NOTHING, skips=True, result=kinds)
