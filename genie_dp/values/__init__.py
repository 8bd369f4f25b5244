"""Values in sentences: the numbers, units, money, times and dates that people say and write."""
