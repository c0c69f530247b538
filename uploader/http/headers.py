"""The headers of a response. A module of its own, so that a run that is refused before it reaches
the network does not load urllib3 for their type.
"""

from __future__ import annotations

from typing import TypeAlias

from urllib3 import HTTPHeaderDict

# names in any case; several values of one name are joined with commas
Headers: TypeAlias = HTTPHeaderDict
