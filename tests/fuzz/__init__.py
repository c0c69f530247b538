"""Coverage-guided fuzzing of every parser of foreign bytes, and the corpus that it has found, held
in the suite.
"""
