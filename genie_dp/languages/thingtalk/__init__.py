"""ThingTalk: parser, type checker, canonical form, token form (Genie, section 2)."""
