"""The many ways in which people write numbers, dates, times, measures, money and places."""
