"""Example values by sort of placeholder, for where neither a file nor a skill gives any.

Written as people write them, and easy to tell from each other and from other words.
"""

from collections.abc import Mapping

TABLE: Mapping[str, tuple[str, ...]] = {
    "NUMBER": tuple(map(str, (2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 18, 20, 25, 30, 40, 50))),
    "CURRENCY": tuple(f"${n}" for n in (5, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 80, 90, 120)),
    "DATE": (
        "january 4", "february 12", "february 23", "march 8", "april 16", "may 3", "may 21",
        "june 11", "july 7", "july 29", "august 14", "september 2", "september 19", "october 24",
        "november 6", "december 18",
    ),
    "TIME": (
        "6:30 am", "7:15 am", "8:00 am", "8:45 am", "9:30 am", "10:20 am", "11:40 am", "1:10 pm",
        "2:30 pm", "3:50 pm", "4:15 pm", "5:00 pm", "6:20 pm", "7:30 pm", "8:10 pm", "9:45 pm",
    ),
    "DURATION": (
        "10 minutes", "15 minutes", "20 minutes", "25 minutes", "30 minutes", "40 minutes",
        "45 minutes", "2 hours", "3 hours", "4 hours",
    ),
    "LOCATION": (
        "palo alto", "seattle", "boston", "chicago", "new york", "london", "paris", "rome",
        "berlin", "tokyo", "sydney", "toronto", "denver", "austin", "madrid", "vienna",
    ),
    "MEASURE_byte": ("5 mb", "10 mb", "20 mb", "50 mb", "100 mb", "500 mb", "2 gb", "4 gb"),
    "MEASURE_C": tuple(f"{n} degrees celsius" for n in (5, 8, 12, 15, 18, 20, 22, 25, 28, 30)),
    "MEASURE_m": ("100 meters", "400 meters", "2 km", "5 km", "8 km", "20 km"),
    "MEASURE_m2": tuple(f"{n} square meters" for n in (20, 40, 60, 80, 120, 200)),
    "MEASURE_mps": tuple(f"{n} meters per second" for n in (3, 5, 8, 10, 15, 20)),
    "MEASURE_kg": tuple(f"{n} kg" for n in (2, 5, 10, 50, 60, 70, 80, 90)),
    "MEASURE_kcal": tuple(f"{n} calories" for n in (100, 150, 200, 300, 400, 500, 700, 900)),
    "MEASURE_bpm": tuple(f"{n} bpm" for n in (60, 70, 80, 90, 110, 120, 140, 150)),
    "MEASURE_dB": tuple(f"{n} decibels" for n in (40, 50, 60, 70, 80, 90)),
    "QUOTED_STRING": (
        "good morning", "blue sky", "happy birthday", "long walk", "green tea", "summer plans",
        "old friends", "paper boats", "winter coat", "river bank", "funny cats", "city lights",
    ),
    "USERNAME": ("alice", "bob", "carol", "dave", "emma", "frank", "grace", "henry"),
    "HASHTAG": ("sunset", "foodie", "travel", "throwback", "monday", "sports", "garden", "music"),
    "URL": (
        "www.example.com", "www.example.org", "www.example.net/news", "www.example.com/blog",
        "www.example.org/photos", "www.example.net/shop", "www.example.com/help",
        "www.example.org/events",
    ),
    "EMAIL_ADDRESS": (
        "alice@example.com", "bob@example.org", "carol@example.net", "dave@example.com",
        "emma@example.org", "frank@example.net", "grace@example.com", "henry@example.org",
    ),
    "PHONE_NUMBER": tuple(f"+155501{n:05d}" for n in range(1200, 3120, 240)),
    "PATH_NAME": (
        "report.pdf", "notes.txt", "photo.jpg", "slides.pptx", "songs.zip", "letter.docx",
        "budget.xlsx", "plan.md",
    ),
}  # fmt: skip
