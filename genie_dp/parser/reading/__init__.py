"""Values in sentences: numbers, dates, places and the like become placeholders with values."""
