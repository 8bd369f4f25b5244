"""Values in sentences: numbers, units, money, times and dates in speech and in writing."""
