"""Google Play's edits: what is live, what is being changed, and the rules between the two."""
