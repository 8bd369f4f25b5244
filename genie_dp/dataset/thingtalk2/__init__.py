"""ThingTalk 2 programs, and which of them have an equal in our language."""
