"""The environment becomes frozen `Inputs`: this folder is the one place that knows the names of
variables.

`table` says what there is, `parsers` what a text means, `platform` where the program runs; `reader`
puts them together.
"""

from uploader.inputs.platform import JobRun, Platform
from uploader.inputs.reader import read
from uploader.inputs.table import TARGETS, Field, Inputs, Show, fields

__all__ = ["TARGETS", "Field", "Inputs", "JobRun", "Platform", "Show", "fields", "read"]
