"""Pictures of job summaries as GitHub shows them, and of job logs as GitLab does. They are to be
looked at in `build/pictures`, and not compared: every browser draws them a little differently.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pictures.drawing import browser, draw_kind
from tests.pictures.kinds import KINDS
from tests.strangers.tools import fetched, said

pytestmark = pytest.mark.slow

PICTURES = Path(__file__).resolve().parents[2] / "build" / "pictures"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="session")
def packages() -> str:
    """The folder with Mermaid, the stylesheet and what steers the browser."""
    if not browser():
        pytest.skip("there is no Chromium to draw with")
    said("node", "--version")
    return fetched("pictures")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_drawn(kind: str, packages: str) -> None:
    """The summary folded in light and dark and unfolded, and the log; no image is fetched from an
    address that is not known.
    """
    not_fetched = draw_kind(kind, packages, PICTURES)
    assert not_fetched == ""
    for view in ("light", "dark", "unfolded", "gitlab"):
        assert (PICTURES / f"{kind}-{view}.png").read_bytes().startswith(PNG)
