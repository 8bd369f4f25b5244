"""Word lists of english.py: the exceptions that rules of spelling do not see."""

from genie_dp.texts import word_set
from genie_dp.values.calendar import MONTHS, WEEKDAYS
from genie_dp.values.spelling import NUMBER_WORDS

# ------------------------------------------------------------------------ a and an

SILENT_H = ("hour", "honest", "honor", "honour", "heir", "herb", "homage")
SOUNDED_H = ("herbivor", "herbert", "herbarium", "herbicide")  # begin like one of those

# Said letter by letter though they hold a vowel; those without one are guessed.
INITIALISMS = word_set(
    """aol api atm avi edm eta faq fbi fyi hbo hdmi hiv iot ios ipo irs iss imdb isbn iso lax
    led lol mba mit mma mri mvp nba nbc ncaa nfl npr nra nsa nyc nypd nyt
    oed pdf roi rsi sat seo sos suv
    uae ufc ufo uhd uk ui umd upc upi ups uri url us usa usb usd usps ussr utc uv ux"""
)
# Without a vowel, and said in full.
ABBREVIATIONS = word_set("mr mrs ms st sr ft mt fr hmm shh mmm")
VOWEL_LETTERS = frozenset("aefhilmnorsx")

# ------------------------------------------------------------------- noun phrases

ARTICLES = {"a": "a", "an": "a", "the": "the", "my": "my"}

SINGULAR_DETERMINERS = word_set("a an this that another each every one either neither")
PLURAL_DETERMINERS = word_set("these those several many few both")
NUMBERS = NUMBER_WORDS - {"zero", "one"}
OTHER_DETERMINERS = word_set(
    """all any some no its his her our your their what which whose whatever enough"""
)
FIXED_DETERMINERS = (SINGULAR_DETERMINERS - {"a", "an"}) | PLURAL_DETERMINERS | OTHER_DETERMINERS

PRONOUNS = word_set(
    """i you he she it we they me him them us mine yours this that everything something
    anything nothing everyone someone anyone nobody everybody somebody anybody"""
)
SUBJECTS = word_set("i you he she we they it")

# A possessive that tells the sort, not the owner: "a children 's book".
SORTS = word_set("children men women kids mother father valentine veterans ladies")

PREPOSITIONS = word_set(
    """about above across after against along among around as at before behind below beneath
    beside besides between beyond by despite down during except for from in inside into like
    near of off on onto out outside over past per regarding round since than through
    throughout to toward towards under underneath unlike until up upon via versus vs with
    within without worth"""
)
RELATIVES = word_set("that which who whom whose where when while if whether because")

# Adverbs after the noun: "the weather today".
AFTERWARDS = word_set(
    """today tomorrow tonight yesterday now currently online nearby here there ago lately
    recently only right away left available else anywhere everywhere again"""
)
TIMES = word_set(
    """second minute hour day week weekend fortnight month quarter season year decade morning
    afternoon evening night spring summer autumn fall winter time"""
).union(MONTHS, WEEKDAYS)
BEFORE_TIMES = word_set("this last next every each")

# Verb forms that begin what is said of the noun: "emails labeled work".
PARTICIPLES = word_set(
    """added addressed assigned attached belonging bought called caused changed checked coming
    concerning containing costing created dated deleted described directed due edited ending
    featuring filed followed following found given going having hosted identified including
    involving kept known labeled labelled lasting led left liked linking listed located made
    marked matching measured mentioned mentioning modified moved named needed owned paid
    performed played playing posted produced published received recommended recorded regarding
    related released reported retweeted running saved saying scheduled seen sent shared shot
    showing shown sold sorted spent sponsored starred starring starting stored sung tagged
    taken titled tracked trending tweeted updated uploaded used using visited watched weighing
    written"""
)

# Further forms of irregular verbs; regular ones in -ed are known by their ending.
IRREGULAR_PARTICIPLES = word_set(
    """begun bitten blown born borne broken brought built chosen crept done drawn driven drunk
    eaten fallen flown forbidden forgotten forgiven frozen given grown held heard hidden hung laid
    lent lost meant overheard paid proven ridden risen rung sewn shaken shrunk slain spoken
    stolen stuck sung sunk swept sworn taught thrown told torn understood undergone won worn
    withdrawn woken"""
)
# Only behind something in the plural: "alarms set for six", but "my chess set".
PARTICIPLES_OR_NOUNS = word_set("bet cast cut hit hurt met put read run set shut spread split")
# End like a participle, and are none: "the garden shed", "my meeting with bob".
NOT_PARTICIPLES = word_set(
    """shed sled bred moped hundred sacred naked wicked kindred
    advertising banking being blessing briefing building ceiling clothing drawing evening filing
    gathering greeting heading housing king listing marketing meeting morning offering outing
    painting ranking rating ring setting something spring string thing wedding wing"""
)
# Plural, and often the first part of a name: "my sports training", "the sales hiring in june".
PLURALS_BEFORE_NOUNS = word_set("arts customs earnings goods operations sales sports systems")

BEFORE_TO = word_set("close similar related equal due next")

# Of these it is what follows "of" that counts: "a couple of songs".
PARTITIVES = word_set(
    """all any some most many several few both none half each lots plenty couple dozens"""
)

MASS = word_set(
    """access advice air analytics anger art astronomy athletics attention audio availability
    baggage bandwidth beauty beer biology bread butter cash cheese chemistry clothing coffee
    commerce content copyright credit crime dance data debt dirt documentation economics
    education electricity energy entertainment equipment ethics evidence exercise feedback
    fiction finance fitness fog food footage fuel fun furniture garbage geography golf gold
    gossip guidance gymnastics hair happiness hardware health heat help history homework
    humidity humor income info information insurance intelligence inventory jazz jewelry junk
    juice knowledge laughter laundry lighting literature love luck luggage machinery mail
    mathematics maths meat metadata milk money music nature news noise nonsense nutrition oil
    oxygen parking patience peace pepper philosophy physics poetry politics pollution
    precipitation privacy progress publicity rain rap recognition research rice rubbish safety
    salt sand scenery science security shopping sleep slang smoke snow soccer software spam
    spending storage stuff sugar sunlight sunshine tea technology tennis traffic training
    transport trash trivia usage vegetation violence visibility vocabulary wealth weather wi-
    fi wifi wood yoga"""
)

# End in s and are singular; -ss, -us and -is need no entry.
SINGULAR_IN_S = word_set(
    """alias james charles chris luis angeles atlas bias canvas chaos christmas gas gps kansas
    lens mars netherlands sms sos texas times wales xmas rss dns css ios cms https always"""
)
# End in -us and -is and are plural.
PLURAL_IN_S = word_set(
    """menus gurus emus gnus taxis skis bikinis kiwis wikis safaris rabbis bios"""
)
PLURALS = word_set(
    """people children men women police media folks feet teeth geese mice cattle lyrics stats
    sports glasses pants jeans shorts scissors thanks belongings earnings surroundings
    headphones directions criteria phenomena alumni cacti fungi"""
)
SERIES = word_set("series species aircraft spacecraft sheep deer offspring")

# A word of sort after which "a" cannot stand: "the latest email", never "a latest email".
UNIQUE = word_set(
    """latest newest oldest last first second third next current only same top best worst most
    least main following previous entire whole rest other right final"""
)

IRREGULAR_PLURALS = {
    "person": "people", "child": "children", "man": "men", "woman": "women", "foot": "feet",
    "tooth": "teeth", "mouse": "mice", "goose": "geese", "to-do": "to-dos", "todo": "todos",
    "passerby": "passersby", "passer-by": "passers-by", "monarch": "monarchs", "photo": "photos",
    "video": "videos", "memo": "memos", "gif": "gifs", "bus": "buses", "status": "statuses",
    "quiz": "quizzes", "wiki": "wikis", "taxi": "taxis", "menu": "menus", "meme": "memes",
    "cookie": "cookies", "movie": "movies", "roof": "roofs", "belief": "beliefs",
    "criterion": "criteria", "add-on": "add-ons", "check-in": "check-ins", "log-in": "log-ins",
    "lookup": "lookups", "curriculum": "curricula", "runner-up": "runners-up",
    "octopus": "octopuses",
    "cactus": "cacti", "axis": "axes", "lens": "lenses", "gas": "gases", "canvas": "canvases",
    "alias": "aliases", "atlas": "atlases", "bias": "biases", "index": "indexes", "cafe": "cafes",
    "leaf": "leaves", "life": "lives", "knife": "knives", "shelf": "shelves", "wolf": "wolves",
    "half": "halves", "series": "series", "species": "species", "sheep": "sheep", "deer": "deer",
    "aircraft": "aircraft", "fish": "fish", "demo": "demos", "logo": "logos", "euro": "euros",
    "emoji": "emojis", "sms": "smses", "gps": "gpses",
    "selfie": "selfies", "data": "data",
}  # fmt: skip

# ------------------------------------------------------------------------------- verbs

THIRD_PERSON = {
    "be": "is", "have": "has", "do": "does", "go": "goes", "undo": "undoes", "redo": "redoes",
    "can": "can", "will": "will", "must": "must", "may": "may", "quiz": "quizzes",
}  # fmt: skip

GERUNDS = {
    "mimic": "mimicking", "geotag": "geotagging", "program": "programming", "sync": "syncing",
    "unsync": "unsyncing", "rsvp": "rsvping", "retweet": "retweeting", "tweet": "tweeting",
    "google": "googling", "be": "being", "die": "dying", "lie": "lying", "tie": "tying",
    "untie": "untying", "panic": "panicking", "snooze": "snoozing", "unfollow": "unfollowing",
    "unmute": "unmuting", "text": "texting", "dim": "dimming", "queue": "queueing",
    "resend": "resending", "retake": "retaking",
    "log": "logging", "blog": "blogging", "vlog": "vlogging", "tag": "tagging", "skype": "skyping",
    "email": "emailing", "e-mail": "e-mailing", "voicemail": "voicemailing", "flop": "flopping",
    "photoshop": "photoshopping", "backup": "backing up", "dm": "dming", "cc": "cc'ing",
    "input": "inputting", "output": "outputting", "reset": "resetting", "preset": "presetting",
    "upset": "upsetting", "unplug": "unplugging", "plug": "plugging", "quit": "quitting",
    "unzip": "unzipping", "zip": "zipping", "cancel": "canceling", "travel": "traveling",
}  # fmt: skip

PARTICIPLE_OF = {
    "mimic": "mimicked", "geotag": "geotagged", "overwrite": "overwritten", "wake": "woken",
    "program": "programmed", "sync": "synced", "retweet": "retweeted", "tweet": "tweeted",
    "text": "texted", "dim": "dimmed", "google": "googled", "rewrite": "rewritten",
    "forward": "forwarded", "broadcast": "broadcast", "input": "input", "output": "output",
    "reset": "reset", "unfollow": "unfollowed", "unmute": "unmuted", "email": "emailed",
    "skype": "skyped", "log": "logged", "blog": "blogged", "panic": "panicked", "be": "been",
    "redo": "redone", "undo": "undone", "rerun": "rerun", "resend": "resent", "retake": "retaken",
    "rebuild": "rebuilt", "upload": "uploaded", "download": "downloaded", "snooze": "snoozed",
    "get": "gotten", "prove": "proven", "light": "lit", "unplug": "unplugged", "zip": "zipped",
    "unzip": "unzipped", "quit": "quit", "dm": "dmed", "cc": "cc'd", "flop": "flopped",
    "queue": "queued", "photoshop": "photoshopped", "cancel": "canceled", "travel": "traveled",
    "bookmark": "bookmarked", "show": "shown", "plead": "pleaded", "dive": "dived",
    "misread": "misread", "preset": "preset", "foresee": "foreseen", "hide": "hidden",
    "hang": "hung", "find": "found", "wind": "wound", "lie": "lain", "fly": "flown",
}  # fmt: skip

# Begin a command and no noun phrase.
VERBS = word_set(
    """accept activate add adjust announce append apply arrange ask attach be become begin
    bring browse buy cancel choose clear close compute convert create deactivate decrease
    delete deliver describe detect determine disable disconnect discover dismiss display do
    download eat edit emit enable enter enumerate erase examine fetch fill find follow forward
    generate get give go grab hang hear help identify import inform initiate insert install
    invite invoke keep launch learn leave let listen locate lower maintain make modify move
    navigate notify obtain pay pick prepare prevent provide pull push put raise recognize
    recommend redirect refresh reject remind remove rename repeat replace resize resume
    retrieve retweet run save say see select send shuffle skip solve speak start stop
    subscribe suggest take tell throw toggle translate transmit trigger turn uninstall unlock
    unfollow unmute unsubscribe untag upload use verify visit wake write"""
)
# Both; what follows decides: "list my files", "list of files".
VERBS_OR_NOUNS = word_set(
    """answer archive block book bookmark broadcast calculate call change charge check click
    clean comment compare connect copy count dim drop email explain file flag flip google
    heart increase jot like light list load lock log look mail mark measure message monitor
    mute name note open order page pause ping pin plan play poke post press print query rate
    read record reply report request reset restart review ring roll schedule search set share
    show shut sign snap sort spell stream submit switch sync tag talk test text track transfer
    tweet update vote watch zip"""
)
AFTER_VERB = word_set(
    """a an the my me this these that those it its them all any some every your his her our
    their him us up out off whether if what who where how when"""
)
# Prepositions that follow these as verbs more often than as nouns.
PARTICLES = {
    "search": {"for"}, "look": {"for", "at", "up"}, "check": {"for", "in", "on", "if"},
    "reply": {"to"}, "switch": {"on", "off", "to"}, "set": {"up", "to"}, "talk": {"to"},
    "sign": {"up", "in", "out"}, "vote": {"for"}, "shut": {"down", "off"}, "play": {"with"},
    "show": {"off"}, "light": {"up"}, "jot": {"down"}, "post": {"on", "to"}, "tweet": {"at"},
    "log": {"in", "out"}, "watch": {"for", "out"}, "call": {"up"}, "open": {"up"},
    "clean": {"up"}, "connect": {"to"}, "dim": {"down"}, "press": {"on"}, "order": {"from"},
}  # fmt: skip

# A name follows these as nouns: "the file $x", but "open $x".
BEFORE_NAMES = word_set(
    """file message page list email mail tag order track post record note book report request query
    comment name test roll block answer review"""
)

# As nouns before a quotation or a name: "a task called milk", not "called the title of the news".
BEFORE_QUOTES = word_set(
    """body called caption captioned entitled following line message name named note question
    statement status subject task term text title titled topic word words"""
)
CONNECTING = word_set("away back forward out")
# What is said follows: "saying the title of the news", never "saying it".
BEFORE_SPEECH = word_set("about at and reading reads say saying says writing")
AUXILIARIES = word_set("is are was were am does do did has have had can could will would should")
CLAUSES = word_set("if whether when how what who whom whose where why which whenever")

VERBS_IN_LY = word_set("reply apply rely supply comply fly imply multiply rally tally")

POSSESSIVES = {
    "i": "my", "me": "my", "you": "your", "he": "his", "him": "his", "she": "her", "her": "her",
    "it": "its", "we": "our", "us": "our", "they": "their", "them": "their", "who": "whose",
}  # fmt: skip
