"""Rules and policies: the whole of a program."""

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move, Wait
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, QueryFacts, ScopeNames
from genie_dp.languages.thingtalk.decoding.conditions import (
    Arguments,
    ConditionScope,
    condition,
    predicate,
)
from genie_dp.languages.thingtalk.decoding.statements import (
    Flow,
    QueryFrame,
    QueryPlace,
    StreamFrame,
)
from genie_dp.languages.thingtalk.operators import CONTACT


class Start(Frame):
    """The first token of a rule, or `policy`."""

    __slots__ = ("catalogue", "count", "stream")

    def __init__(self, catalogue: Catalogue, count: int):
        """Allow streams, `now` where there is something to do, and `policy` at the beginning."""
        self.catalogue, self.count = catalogue, count
        self.stream = catalogue.automaton.make(StreamFrame, catalogue, 0)
        words = {"now"} if catalogue.functions else set()
        if count == 1:
            words.add("policy")
        super().__init__(self.stream.fixed | words, closing=frozenset(words) or None)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with what follows."""
        catalogue = self.catalogue
        automaton = catalogue.automaton
        if token == "policy":
            person = catalogue.scope({"source": CONTACT})
            source = ConditionScope(
                catalogue, person, person, catalogue.empty, False, 0, takes_text=True
            )
            about = automaton.make(PolicyStart, catalogue)
            return (*predicate(source), automaton.token(":"), about), None
        end = automaton.make(RuleEnd, catalogue, self.count)
        if token == "now":
            body = automaton.make(RuleBody, catalogue, catalogue.empty, False)
            return (automaton.token("=>"), body, end), None
        frames, result = self.stream.take(token, sentence)
        return (*frames, automaton.make(AfterStream, catalogue), end), result


class AfterStream(Wait):
    """After the stream of a rule."""

    __slots__ = ("catalogue",)

    def __init__(self, catalogue: Catalogue):
        super().__init__()
        self.catalogue = catalogue

    def resume(self, result: Flow) -> Move:
        """Go on with its query or action."""
        automaton = self.catalogue.automaton
        body = automaton.make(RuleBody, self.catalogue, result.scope, True)
        return (automaton.token("=>"), body), None


class RuleEnd(Frame):
    """The end of a rule, or a semicolon and another one."""

    __slots__ = ("catalogue", "count")

    def __init__(self, catalogue: Catalogue, count: int):
        self.catalogue, self.count = catalogue, count
        fixed = frozenset((";",)) if count < catalogue.limits.rules else NOTHING
        super().__init__(fixed, closing=NOTHING, skips=True)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Begin another rule."""
        return (self.catalogue.automaton.make(Start, self.catalogue, self.count + 1),), None


class RuleBody(Frame):
    """What stands after `now =>` or a stream: a query, an action, `notify` after a stream."""

    __slots__ = ("action", "catalogue", "query", "scope")

    def __init__(self, catalogue: Catalogue, scope: ScopeNames, is_event: bool):
        self.catalogue, self.scope = catalogue, scope
        make = catalogue.automaton.make
        place = QueryPlace(catalogue, scope, False, is_event, 0)
        self.query = make(QueryFrame, place)
        self.action = make(Action, catalogue, scope, is_event)
        super().__init__(
            self.query.fixed | self.action.fixed,
            closing=self.action.fixed if is_event else self.query.closing | self.action.fixed,
        )

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the query and its action, or with the action."""
        if token in self.action.fixed:
            return self.action.take(token, sentence)
        frames, result = self.query.take(token, sentence)
        after = self.catalogue.automaton.make(AfterBody, self.catalogue, self.scope)
        return (*frames, after), result


class AfterBody(Wait):
    """After the query of a rule."""

    __slots__ = ("catalogue", "scope")

    def __init__(self, catalogue: Catalogue, scope: ScopeNames):
        super().__init__()
        self.catalogue, self.scope = catalogue, scope

    def resume(self, result: QueryFacts) -> Move:
        """Go on with the action."""
        automaton = self.catalogue.automaton
        scope = self.catalogue.under(self.scope, result.scope)
        return (automaton.token("=>"), automaton.make(Action, self.catalogue, scope, True)), None


class Action(Frame):
    """`notify` where something has happened, or the function that acts."""

    __slots__ = ("catalogue", "is_event", "scope")

    def __init__(self, catalogue: Catalogue, scope: ScopeNames, is_event: bool):
        self.catalogue, self.scope, self.is_event = catalogue, scope, is_event
        words = frozenset(("notify",)) if is_event else NOTHING
        super().__init__(words | {f.token for f in catalogue.actions}, closing=words or None)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with its arguments."""
        if token == "notify":
            return (), None
        catalogue = self.catalogue
        function = catalogue.by_token[token]
        make = catalogue.automaton.make
        return (make(Arguments, catalogue, function, self.scope, self.is_event),), None


# ------------------------------------------------------------------------------- policies


class PolicyStart(Frame):
    """What a policy is about: `now =>` and a query or an action, or a query and an action."""

    __slots__ = ("catalogue", "query")

    def __init__(self, catalogue: Catalogue):
        """Allow `now` and queries."""
        self.catalogue = catalogue
        self.query = catalogue.automaton.make(Subject, catalogue, ("query",))
        super().__init__(self.query.fixed | {"now"}, closing=frozenset(("now",)))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with what the policy speaks of."""
        automaton = self.catalogue.automaton
        arrow = automaton.token("=>")
        if token == "now":
            either = automaton.make(Subject, self.catalogue, ("query", "action"))
            return (arrow, either, automaton.make(AfterSubject)), None
        frames, result = self.query.take(token, sentence)
        action = automaton.make(Subject, self.catalogue, ("action",))
        return (*frames, automaton.make(AfterQueried, arrow, action)), result


class AfterQueried(Wait):
    """After the query of a policy about a query and an action."""

    __slots__ = ("following",)

    def __init__(self, *following: Frame):
        super().__init__()
        self.following = following

    def resume(self, result: object) -> Move:
        """Go on with the action."""
        return self.following, None


class Subject(Frame):
    """What a policy speaks of: `*`, `@c.*` or a function; leaves the kinds that it may be."""

    __slots__ = ("catalogue", "kinds")

    def __init__(self, catalogue: Catalogue, kinds: tuple[str, ...]):
        self.catalogue, self.kinds = catalogue, kinds
        classes = {f"@{name}.*" for name in catalogue.library.class_names()}
        functions = {f.token for f in catalogue.functions if f.signature.kind in kinds}
        super().__init__(frozenset({"*"} | classes | functions), closing=frozenset("*"))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a filter of a function; all functions, and those of a class, have none."""
        function = self.catalogue.by_token.get(token)
        if function is None:
            return (), self.kinds
        make = self.catalogue.automaton.make
        kinds = (function.signature.kind,)
        return (make(SubjectFilter, self.catalogue, function.parameters, kinds),), None


class SubjectFilter(Frame):
    """A condition on the parameters of a policy's function, or none."""

    __slots__ = ("catalogue", "fields", "kinds")

    def __init__(self, catalogue: Catalogue, fields: ScopeNames, kinds: tuple[str, ...]):
        self.catalogue, self.fields, self.kinds = catalogue, fields, kinds
        super().__init__(frozenset(("filter",)), closing=NOTHING, skips=True, result=kinds)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the condition."""
        of = condition(self.catalogue, self.fields, self.catalogue.empty, False, 0)
        return (*predicate(of), self.catalogue.automaton.make(GiveKinds, self.kinds)), None


class GiveKinds(Wait):
    """Leaves the kinds, whatever stood above."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: tuple[str, ...]):
        super().__init__()
        self.kinds = kinds

    def resume(self, result: object) -> Move:
        """Leave them."""
        return (), self.kinds


class AfterSubject(Wait):
    """After what `now =>` of a policy is about: `=> notify` if it is a query."""

    __slots__ = ()

    def resume(self, result: tuple[str, ...]) -> Move:
        """Go on with the end."""
        return (PolicyEnd(result),), None


class PolicyEnd(Frame):
    """`=> notify` after a query, nothing after an action."""

    __slots__ = ()

    def __init__(self, kinds: tuple[str, ...]):
        fixed = frozenset(("=>",)) if "query" in kinds else NOTHING
        skips = "action" in kinds
        super().__init__(fixed, closing=NOTHING if skips else fixed, skips=skips)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with `notify`."""
        return (Frame(frozenset(("notify",))),), None
