"""What outlives a run: a store of sealed values, and the journal of unfinished uploads in it."""
