"""Which tokens may follow in a ThingTalk program, so that only well-typed ones can be decoded."""
