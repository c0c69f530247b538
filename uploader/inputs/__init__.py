"""The environment becomes frozen `Inputs`: this folder is the one place that knows the names of
variables.

`specs` is the table of inputs, `records` what each part of the program is given of them, `parsers`
what a text means, `platform` where the program runs; `reader` puts them together.
"""

from uploader.inputs.platform import JobRun, Platform
from uploader.inputs.reader import read
from uploader.inputs.records import Inputs, Show
from uploader.inputs.specs import SPECS, TARGETS, InputSpec

__all__ = [
    "SPECS",
    "TARGETS",
    "InputSpec",
    "Inputs",
    "JobRun",
    "Platform",
    "Show",
    "read",
]
