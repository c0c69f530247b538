"""The environment becomes frozen `Inputs`: this folder is the one place that knows the names of variables.

`input_table` says what there is, `parse` what a text means, `ci_platform` where the program runs; `reader` puts them
together.
"""

from uploader.inputs.ci_platform import JobRun, Platform
from uploader.inputs.input_names import renamed
from uploader.inputs.input_table import TARGETS, Field, Inputs, Show, fields
from uploader.inputs.reader import read

__all__ = ["TARGETS", "Field", "Inputs", "JobRun", "Platform", "Show", "fields", "read", "renamed"]
