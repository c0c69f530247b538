"""Path expansion against an independent RFC 6570 implementation, and against values that try to get
out.
"""

from __future__ import annotations

import posixpath
from urllib.parse import unquote

import pytest
import uritemplate
from hypothesis import given
from hypothesis import strategies as st

from uploader.errors import ProtocolError
from uploader.services import catalogue

SIMPLE, RESERVED = "/v1/b/{name}/o", "/v1/{+name}:upload"
texts = st.text(
    alphabet=st.sampled_from("aZ9._-~ /%:?#[]@!$&'()*+,;=\\üé%2F%2e\n"), max_size=20
)


@pytest.mark.parametrize("template", [SIMPLE, RESERVED])
@given(value=texts)
def test_accepted_values_expand_as_rfc_6570_says(template: str, value: str) -> None:
    """Every accepted value expands as in an independent implementation, which errs only where
    escapes are mixed in.
    """
    # there it leaves even blanks as they are
    mixed = template == RESERVED and unquote(value) != value
    if not mixed and not catalogue.objection(template, "name", value):
        assert catalogue.expand(template, {"name": value}) == uritemplate.expand(
            template, name=value
        )


@pytest.mark.parametrize("template", [SIMPLE, RESERVED])
@pytest.mark.parametrize("value", ["..", ".", "a/../b", "%2e%2e", "%252e%252e"])
def test_an_id_that_a_service_names_stays_in_its_place_too(
    template: str, value: str
) -> None:
    """An id from an answer was never an input; no path is made of one that leads to another."""
    with pytest.raises(ProtocolError):
        catalogue.expand(template, {"name": value})


@pytest.mark.parametrize("template", [SIMPLE, RESERVED])
@given(value=texts)
def test_accepted_values_stay_in_their_place(template: str, value: str) -> None:
    """No accepted value, even with its escapes undone, ends the path or leads to another one."""
    if catalogue.objection(template, "name", value):
        return
    path = catalogue.expand(template, {"name": value})
    before, after = template.split("{+name}" if "+" in template else "{name}")
    assert path.startswith(before)
    assert path.endswith(after)
    assert "?" not in path
    assert "#" not in path
    if template == SIMPLE:
        assert path.count("/") == template.count("/")
    else:
        assert posixpath.normpath(unquote(path)) == unquote(path)


@pytest.mark.parametrize(
    ("template", "value", "why"),
    [
        (SIMPLE, "", "empty"),
        (SIMPLE, "..", "segment"),
        (SIMPLE, ".", "segment"),
        (SIMPLE, "a/../b", "segment"),
        (SIMPLE, "a\r\nHost: x", "control"),
        (RESERVED, "a//b", "empty segment"),
        (RESERVED, "/a", "empty segment"),
        (RESERVED, "a/", "empty segment"),
        (RESERVED, "a%2F/b", "empty segment"),
        (RESERVED, "a/../b", ". or .."),
        (RESERVED, "a/%2e%2E/b", ". or .."),
        (RESERVED, "a%2f..%2fb", ". or .."),
        (RESERVED, "a?alt=media", "? or #"),
        (RESERVED, "a#b", "? or #"),
        (RESERVED, "a%0d%0ab", "control"),
    ],
)
def test_values_that_lead_elsewhere_are_refused(
    template: str, value: str, why: str
) -> None:
    """A value that is empty, holds dots as a segment, ? or #, or a control character is refused
    with the reason.
    """
    assert why in catalogue.objection(template, "name", value)
