"""Read the environment and the command line into frozen `Inputs`. No other package knows the names
of the variables.

`specs` is the table of inputs. `records` holds the values that each part of the program gets,
`parsers` turn texts into values, `platform` finds out where the program runs, and `reader` puts
them together.
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
