"""The words that first templates are guessed with (cold_start.py)."""

import re

from genie_dp.english import lists as english
from genie_dp.languages.units import SHIPPED, UNIT_NAMES
from genie_dp.texts import word_set

# Verbs as names of tools begin with; those of English that are nouns there are left out.
VERBS = (
    english.VERBS
    | english.VERBS_OR_NOUNS
    | word_set(
        """abort allocate analyze annotate approve archive assess assign associate authorize
        balance benchmark bind book capture cast check claim clone collect combine commit compile
        compose compress connect consult crop deploy design detach diagnose draft draw drop embed
        encode encrypt decrypt decode end ensure estimate evaluate execute expand explore export
        extend extract filter finish finalize fork format gather grant group highlight hide
        hover identify include index inspect interpret join link manage map match merge migrate
        normalize obtain optimize parse patch perform permit plot predict preview process produce
        profile promote propose publish purchase query react rebuild receive recommend reconcile
        record recover register reject release reload render reopen reorder reply rerun reschedule
        reserve resolve respond restore retry return revert review revoke rewrite rotate sample
        scan scale score scrape screen scroll set shift simulate slice split stage star
        stash store stream strip subtract summarize swap synchronize tap transcribe
        transform traverse trim type undo unarchive unassign unblock uncheck unlink unpin unshare
        unstar update upgrade upsert validate view visualize vote wait warn watch wrap multiply
        divide sum round shuffle guess roll flip beautify minify think sell trade withdraw deposit
        pin build configure construct define develop draft emit initialize integrate kill label
        lint login logout outline paginate prune rank refine refund regenerate reload repair reset
        route serve setup sign sort speak store submit suspend test toggle trace trade tune unmount
        verify heat cool warm cook brew water feed charge ride drive rent hire call dial whisper
        increment decrement calibrate clip blur crop invert adjust empty fill wipe
        organize aggregate indicate mix blend spin toss lookup forecast
        ship deliver standardize authenticate reverse block demote enroll confirm complete"""
    )
) - word_set("file page name light message heart ring google text mail note load stage star count")
# Those that are verbs wherever they stand in a name.
SURE_VERBS = (english.VERBS & VERBS) | word_set(
    "search list check calculate analyze read write query"
)
# Names of those who do something: "article_searcher".
DOERS = {
    "getter": "get", "searcher": "search", "finder": "find", "fetcher": "fetch",
    "converter": "convert", "calculator": "calculate", "generator": "generate",
    "translator": "translate", "analyzer": "analyze", "summarizer": "summarize",
    "extractor": "extract", "reader": "read", "viewer": "view", "creator": "create",
}  # fmt: skip
# At the end of a name: "article_search".
ENDING_VERBS = word_set(
    """search lookup find fetch convert calculate generate translate summarize analyze extract get
    read view create list"""
)
GETTING_VERBS = word_set("get retrieve fetch return list show view display obtain provide lookup")
# Of what these give one asks "what is the weather".
ASKING_VERBS = word_set("get retrieve return obtain provide lookup list")
MAKING_VERBS = word_set(
    """create add make generate send write insert draw schedule register post publish compose
    draft new book reserve order build plot render produce submit"""
)
# Of what these give one asks "what is the area of the circle".
RECKONING_VERBS = word_set("calculate compute estimate determine")
SETTING_VERBS = word_set("set change update switch adjust turn")
SEEKING_VERBS = word_set("search find look query explore discover scan browse")
SPEAKING_VERBS = MAKING_VERBS | word_set("reply respond answer comment tell say notify message")
SYNONYMS = {
    "get": ("get", "find"),
    "retrieve": ("get", "find", "retrieve"),
    "fetch": ("get", "fetch"),
    "return": ("get", "find"),
    "obtain": ("get", "find"),
    "provide": ("get", "find"),
    "list": ("list", "get"),
    "show": ("see", "show"),
    "view": ("see", "view"),
    "display": ("see", "display"),
    "lookup": ("look up", "find"),
    "search": ("search",),
    "find": ("find", "look for"),
    "query": ("query", "search"),
    "discover": ("find", "discover"),
    "create": ("create", "make"),
    "generate": ("generate", "create", "make"),
    "make": ("make", "create"),
    "add": ("add",),
    "delete": ("delete", "remove"),
    "remove": ("remove", "delete"),
    "update": ("update", "change"),
    "modify": ("change", "modify"),
    "edit": ("edit", "change"),
    "set": ("set",),
    "calculate": ("calculate", "work out", "compute", "find"),
    "compute": ("calculate", "work out", "compute", "find"),
    "estimate": ("estimate", "work out"),
    "check": ("check",),
    "start": ("start", "begin"),
    "begin": ("start", "begin"),
    "stop": ("stop", "end"),
    "run": ("run", "start"),
    "execute": ("run", "execute"),
    "perform": ("run", "do"),
    "cancel": ("cancel", "call off"),
    "book": ("book", "reserve"),
    "reserve": ("book", "reserve"),
    "purchase": ("buy", "purchase"),
    "enable": ("turn on", "enable"),
    "disable": ("turn off", "disable"),
    "activate": ("turn on", "activate"),
    "deactivate": ("turn off", "deactivate"),
    "copy": ("copy", "duplicate"),
    "close": ("close", "shut"),
    "increase": ("increase", "raise"),
    "decrease": ("decrease", "lower"),
    "analyze": ("analyze", "examine"),
    "determine": ("find out", "determine"),
    "summarize": ("summarize", "sum up"),
    "write": ("write",),
    "upload": ("upload",),
    "schedule": ("schedule", "plan"),
    "sync": ("sync", "synchronize"),
    "synchronize": ("sync", "synchronize"),
}
PREPOSITIONS = word_set(
    "to for from in on of at about into between under against near onto over as by with within"
    " through"
)
DETERMINERS = word_set("a an the my all any each every some this that these those its your their")
# What says how, or begins another thought: a wording ends before it.
STOPS = word_set(
    """using via based given by with that which who whose when where if so including according
    through such per without within while during optionally because like then also as unless
    after before until not is are was will can may should must you it they e.g i.e eg etc along
    across matching related grouped sorted filtered represented specified provided identified or"""
)
# Of those, what these verbs need to be whole: "compare the first image with the second one".
COMPLEMENTS = {
    "with": word_set(
        """share compare replace fill sync synchronize connect merge combine pair link associate
        swap exchange pay mix blend integrate align join"""
    ),
    "by": word_set(
        """divide multiply increase decrease raise lower reduce sort order group filter increment
        decrement scale rotate shift"""
    ),
}
# After "as", what says how, and not as what: "as soon as possible".
MANNERS = word_set("well soon needed possible required usual far long much many described above")
# Names begin with these for programs' sake: "ACTION_SET_ALARM", "api_get_user".
NAME_STARTS = word_set("action intent api tool fn func function method op")
NAME_ENDS = word_set("by for with from using via in on")
SAYING_LITTLE = word_set(
    """process handle run execute perform do call get set use data item items object thing value
    values result results request response input output main info information content resource
    function task operation action nearby closest nearest all new"""
)
VAGUE = word_set(
    """specific specified given particular provided certain single existing multiple various
    one more simple valid supplied"""
)
ORDINAL_WORDS = word_set("first second third last next previous other")
DROPPED_ENDS = word_set("id ids name path uuid guid input absolute relative full")
DROPPED_STARTS = word_set("extra param arg argument intent opt p")
# Which of these phrases are not for numbers: "with a time of 5".
NOT_OF_NUMBERS = word_set("time day date when duration period month")
NAMING_ENDS = word_set("id index code")
MOMENTS = word_set("date time datetime timestamp day")
ABBREVIATIONS = {
    "num": "number", "nr": "number", "no": "number", "lat": "latitude", "lon": "longitude",
    "lng": "longitude", "long": "longitude", "msg": "message", "desc": "description",
    "lang": "language", "src": "source", "dst": "destination", "dest": "destination",
    "addr": "address", "qty": "quantity", "dir": "folder", "directory": "folder",
    "repo": "repository", "img": "image", "idx": "index", "pos": "position", "cfg": "config",
    "params": "parameters", "args": "arguments", "tz": "timezone", "temp": "temperature",
    "info": "information", "docs": "documents", "doc": "document", "dept": "department",
    "org": "organization", "env": "environment", "ctx": "context", "cat": "category",
    "filename": "file", "filepath": "file", "filenames": "files", "dirname": "folder",
    "username": "user", "checkin": "check-in", "checkout": "check-out", "min": "minimum",
    "max": "maximum", "zipcode": "zip", "uri": "url", "pic": "picture", "auto": "automatic",
    "calc": "calculate", "prob": "probability", "freq": "frequency", "loc": "location",
    "avg": "average", "std": "standard", "dev": "deviation", "coord": "coordinate",
    "coords": "coordinates", "amt": "amount", "vol": "volume", "len": "length",
}  # fmt: skip
LABELS = {
    "q": "query", "n": "number", "k": "number of results", "top k": "number of results",
    "x": "x", "lookback": "lookback", "zip": "zip code", "dob": "date of birth",
}  # fmt: skip
PLACES = word_set(
    """city country location place state region town area room zone floor province county
    district continent venue neighborhood village house"""
)
BEGINS = word_set("start begin from since after check-in beginning earliest")
ENDS = word_set("end to until before due check-out finish latest deadline")
QUERY_LABELS = word_set(
    "query keyword keywords search term terms topic subject question prompt"
) | {
    "search term",
    "search query",
    "search terms",
    "search text",
    "query text",
    "search keyword",
}
SPEECH_LABELS = word_set("message text body comment note content reply") | {
    "message text", "message body", "comment text"
}  # fmt: skip
NAME_LABELS = word_set("name title label") | {"full name", "display name"}
SPANS = word_set("days hours minutes seconds weeks months years nights")
ORDINALS = word_set("id number page index offset position year month day code version port")
# What is said of a parameter of that name; # is its value.
PHRASES = {
    "to": "to #", "recipient": "to #", "recipients": "to #", "from": "from #", "sender": "from #",
    "destination": "to #", "origin": "from #", "source": "from #", "target": "to #",
    "address": "at #", "coordinates": "at #", "latitude": "at latitude #",
    "longitude": "at longitude #", "language": "in #", "currency": "in #", "unit": "in #",
    "units": "in #", "color": "in #", "colour": "in #", "format": "in # format",
    "output format": "in # format", "mode": "in # mode", "order": "in # order",
    "sort order": "in # order", "direction": "in # direction", "sort": "sorted by #",
    "sort by": "sorted by #", "order by": "sorted by #", "sort field": "sorted by #",
    "group by": "grouped by #", "limit": "with at most # results",
    "maximum results": "with at most # results", "maximum number results":
    "with at most # results", "number results": "with at most # results",
    "number of results": "with at most # results", "page size": "with # results a page",
    "per page": "with # results a page", "count": "with # results", "page": "on page #",
    "offset": "from number # on", "category": "in the category #", "type": "of type #",
    "kind": "of kind #", "status": "with the status #", "state": "in the state #",
    "file": "with the file #", "folder": "in the folder #", "repository": "in the repository #",
    "project": "in the project #", "channel": "in the channel #", "user": "for the user #",
    "year": "in #", "month": "in #", "duration": "for #", "timezone": "in the timezone #",
    "author": "by #", "artist": "by #", "amount": "with an amount of #",
    "tag": "tagged #", "tags": "tagged #", "reason": "because #", "age": "with an age of #",
    "output": "to #", "input": "from #", "output file": "to the file #",
    "output folder": "to the folder #", "input file": "from the file #",
    "device": "on the device #", "team": "for the team #", "account": "for the account #",
    "symbol": "for the symbol #", "ticker": "for the ticker #", "company": "for the company #",
    "id": "with the id #", "date": "on #", "time": "at #", "day": "on #", "when": "at #",
    "departure date": "on #", "arrival date": "arriving on #", "departure time": "at #",
    "arrival time": "arriving at #", "return date": "returning on #", "due date": "until #",
    "url": "from #", "period": "for the period #", "interval": "with the interval #",
}  # fmt: skip
# Another way to say a phrase; the first pattern that fits is taken.
OTHER_PHRASES = tuple(
    (re.compile(pattern), other)
    for pattern, other in (
        (r"^with (?:a|an|the) ([^$]*?)(?: of)? (\$\{\w+\})$", r"with \1 \2"),
        (r"^with ([a-z]) (\$\{\w+\})$", r"with \1 = \2"),
        (r"^with at most (\$\{\w+\}) results$", r"limited to \1 results"),
        (r"^called (.*)$", r"with the name \1"),
        (r"^named (.*)$", r"called \1"),
        (r"^saying (.*)$", r"that says \1"),
        (r"^in the category (.*)$", r"of the category \1"),
        (r"^(?:for|in|with) the (?:company|symbol|ticker) (.*)$", r"of \1"),
        (r"^about (.*)$", r"on \1"),
    )
)
# Units of numbers, as descriptions say them: "the height (in cm)".
UNITS = "|".join(
    (
        *(
            re.escape(name)
            for unit in SHIPPED.by_name.values()
            if unit.base != "ms"
            for name in unit.words[1:]
        ),
        "kg|lbs|km|cm|mm|kmh|mph|m/s|degrees|ohms|newtons|usd|dollars|euros",
    )
)
# At the end of a number's name: "weight_kg".
UNIT_ENDS = {
    **{
        end: SHIPPED.by_name[UNIT_NAMES[end]].plural
        for end in word_set(
            "kg m cm km mm lbs inches feet meters miles minutes seconds hours celsius"
        )
    },
    "usd": "dollars", "eur": "euros",
}  # fmt: skip
# A number of that name counts the noun: "5 recipes".
COUNT_LABELS = word_set("limit count number quantity amount") | {
    "number of results", "number results", "maximum results", "maximum number results", "page size",
}  # fmt: skip
# A value of that name stands before the noun: "italian restaurants".
KIND_LABELS = word_set("category type kind genre cuisine style color colour size brand topic")
# By the first word: "from city", "target currency"; the rest names the value.
DIRECTIONS = {
    "base": "from", "from": "from", "source": "from", "origin": "from", "start": "from",
    "departure": "from", "input": "from", "to": "to", "destination": "to", "target": "to",
    "arrival": "to", "output": "to", "end": "to",
}  # fmt: skip
# By the last word; @ is the whole name.
LAST = {"mode": "in # mode", "language": "in #", "currency": "in #", "format": "in # format"}
INCLUDING = word_set(
    "include with show return enable allow add use keep has have fetch get returns includes"
)
ADVERBS = {
    "verbose": "verbosely", "recursive": "recursively", "private": "private", "public": "public",
    "force": "by force", "silent": "silently", "quiet": "quietly", "async": "in the background",
    "headless": "headless", "dry run": "as a dry run", "bold": "bold", "italic": "italic",
    "urgent": "urgently", "exact": "exactly",
}  # fmt: skip
