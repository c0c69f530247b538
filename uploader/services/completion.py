"""Read from a response whether the service is done with an uploaded file.

For most methods a response without an error is the success. The others respond with a long-running
operation, or with a resource that has a state: both can say in a 200 that the upload failed. Which
method responds how is data in catalogue.json, made by scripts/make_catalogue.py from Google's
discovery documents. Sources: google.longrunning.Operation (google.aip.dev/151) and, for the states,
the documents of each API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from uploader.protocol.resources import identifier, value_at

Answer: TypeAlias = Mapping[str, Any]
Pairs: TypeAlias = tuple[tuple[str, str], ...]
"""Names with their values, in order."""

_MAX_WORDS = 2000  # characters
_MAX_PARTS = 20  # of one error
_MAX_DEPTH = 3  # of lists and objects in each other
# The members of an error or of one of its parts that say what went wrong, and the short names for
# it: of google.rpc.Status, of BigQuery's ErrorProto and of the Chrome Web Store's ItemError.
_WORDS = ("message", "error_detail", "errorDetail")
_NAMES = ("reason", "error_code", "errorCode")
# google.rpc.Code, which an operation's error has as a number.
_CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)


class Stage(Enum):
    """How far the service is with a file. `UNKNOWN` means that the answer has no state, or one that
    the API's description does not list.
    """

    DONE = "done"
    AT_WORK = "at work"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Reading:
    """What an answer says: the stage, and the state or error in the service's own words."""

    stage: Stage
    name: str = ""
    words: str = ""


@dataclass(frozen=True)
class Lookup:
    """The request that shows how far the service is.

    - `path`: a template. `values` has the dotted paths in the first answer for its parameters; any
      other parameter is one of the upload.
    - `query`: query parameters with dotted paths; one is left out if the answer has no value there.
    - `constants`: query parameters with fixed values.
    - `forwarded`: query parameters that keep the value that they had for the upload.
    - `at`: the dotted path in the response of what the upload's own answer has.
    """

    path: str
    values: Pairs = ()
    query: Pairs = ()
    constants: Pairs = ()
    forwarded: tuple[str, ...] = ()
    at: str = ""


@dataclass(frozen=True)
class Operation:
    """The rule for an answer that is a long-running operation, or has one in the member `at`."""

    lookup: Lookup
    at: str = ""

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the answer that have to be there."""
        if self.at:
            return (self.at,)
        return ("name", "done", "error", "response")

    @property
    def signs(self) -> tuple[str, ...]:
        """No dotted paths, since any object may be an operation."""
        return ()

    def read(self, answer: Answer) -> Reading:
        """Return how far the operation is. One that is done has a response or an error; without
        either it counts as still at work (google.aip.dev/151).
        """
        operation = self.lookup_source(answer)
        if operation.get("done") is not True:
            return Reading(Stage.AT_WORK)
        error = operation.get("error")
        if error is not None:
            return Reading(
                Stage.FAILED,
                name=_name(error),
                words=words_of(error),
            )
        response = operation.get("response")
        if isinstance(response, Mapping):
            return Reading(Stage.DONE)
        return Reading(Stage.AT_WORK)

    def recognises(self, answer: Answer) -> bool:
        """Return whether a response to the lookup is an operation at all."""
        reading = self.read(answer)
        if reading.stage is not Stage.AT_WORK:
            return True
        operation = self.lookup_source(answer)
        name = operation.get("name")
        if not isinstance(name, str):
            return False
        return name != ""

    def lookup_source(self, answer: Answer) -> Answer:
        """Return the operation in an answer; the fields of the lookup are its members."""
        if self.at:
            return _mapping(answer.get(self.at))
        return answer

    def resource(self, answer: Answer) -> Answer:
        """Return the response in the operation; empty as long as it is not done."""
        operation = self.lookup_source(answer)
        return _mapping(operation.get("response"))

    def as_answer(self, response: Answer) -> Answer:
        """Return the response to the lookup in the form of the upload's own answer."""
        if self.at:
            return {self.at: response}
        return response


@dataclass(frozen=True)
class State:
    """The rule for an answer that is a resource with a state in one of `fields` (dotted paths).

    `done`, `at_work` and `failed` are the values of the state. A value at the path `error` is a
    failure in any state. `reasons` are the dotted paths of what the service says about a failure.
    Without a `lookup` there is no other answer than the first.
    """

    fields: tuple[str, ...]
    done: tuple[str, ...]
    failed: tuple[str, ...]
    at_work: tuple[str, ...] = ()
    error: str = ""
    reasons: tuple[str, ...] = ()
    lookup: Lookup | None = None

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the answer that have to be there."""
        paths = list(self.fields[:1])
        if self.error:
            paths.append(self.error)
        paths += self.reasons
        if self.lookup:
            looked_up = self.lookup.values + self.lookup.query
            paths += [path for _, path in looked_up]
        members: dict[str, None] = {}
        for path in paths:
            member, _, _ = path.partition(".")
            members[member] = None
        return tuple(members)

    @property
    def signs(self) -> tuple[str, ...]:
        """Dotted paths, one of which every answer has.

        A failure may have made nothing that could have an identifier, so those of an error count.
        """
        signs = list(self.fields)
        if self.error:
            members = ("code", *_WORDS, *_NAMES)
            signs += [f"{self.error}.{member}" for member in members]
        return tuple(signs)

    def read(self, answer: Answer) -> Reading:
        """Return how far the service is by the state."""
        state = identifier(answer, self.fields)
        if state in self.failed or self._has_error(answer):
            return Reading(
                Stage.FAILED,
                name=state or "error",
                words=self._words(answer),
            )
        if state in self.done:
            return Reading(Stage.DONE, state)
        if state in self.at_work:
            return Reading(Stage.AT_WORK, state)
        return Reading(Stage.UNKNOWN, state)

    def _has_error(self, answer: Answer) -> bool:
        if not self.error:
            return False
        error = value_at(answer, self.error)
        return error is not None

    def recognises(self, answer: Answer) -> bool:
        """Return whether a response to the lookup has a state at all."""
        reading = self.read(answer)
        if reading.stage is not Stage.UNKNOWN:
            return True
        return bool(reading.name)

    def _words(self, answer: Answer) -> str:
        """Return what the service says about a failure."""
        words = []
        for path in self.reasons:
            reason = value_at(answer, path)
            words.append(words_of(reason))
        return _join(words)

    def lookup_source(self, answer: Answer) -> Answer:
        """Return the resource in an answer, which is all of it."""
        return answer

    def resource(self, answer: Answer) -> Answer:
        """Return the resource in an answer, which is all of it."""
        return answer

    def as_answer(self, response: Answer) -> Answer:
        """Return the response to the lookup in the form of the upload's own answer."""
        if self.lookup and self.lookup.at:
            return _mapping(value_at(response, self.lookup.at))
        return _mapping(response)


Completion: TypeAlias = Operation | State


def from_facts(facts: Mapping[str, Any] | None) -> Completion | None:
    """Return the rule of a method as catalogue.json has it; None for a method without one."""
    if facts is None:
        return None
    lookup = None
    if "lookup" in facts:
        lookup = _lookup_from_facts(facts["lookup"])
    if facts["kind"] == "operation":
        assert lookup, "an operation can always be asked about"
        return Operation(lookup, facts["at"])
    return State(
        fields=tuple(facts["fields"]),
        done=tuple(facts["done"]),
        failed=tuple(facts["failed"]),
        at_work=tuple(facts.get("at_work", ())),
        error=facts.get("error", ""),
        reasons=tuple(facts.get("reasons", ())),
        lookup=lookup,
    )


def _lookup_from_facts(facts: Mapping[str, Any]) -> Lookup:
    """Return the request of a method that shows how far the service is."""
    return Lookup(
        facts["path"],
        values=_pairs(facts.get("values", {})),
        query=_pairs(facts.get("query", {})),
        constants=_pairs(facts.get("constants", {})),
        forwarded=tuple(facts.get("forwarded", ())),
        at=facts.get("at", ""),
    )


def _pairs(facts: Mapping[str, str]) -> Pairs:
    return tuple(facts.items())


def words_of(value: Any, depth: int = 0) -> str:
    """Return what an error says, as one line for people.

    It is empty if the error says nothing, or only in objects nested more deeply than those of any
    service.
    """
    if isinstance(value, str):
        line = " ".join(value.split())
        return line[:_MAX_WORDS]
    if depth == _MAX_DEPTH:
        return ""
    if isinstance(value, list):
        parts = value[:_MAX_PARTS]
        return _join(words_of(part, depth + 1) for part in parts)
    if not isinstance(value, Mapping):
        return ""
    words = _first_words(value, _WORDS, depth)
    name = _first_words(value, _NAMES, depth)
    if words and name:
        return f"{name}: {words}"
    return words or name


def _first_words(error: Mapping[str, Any], names: Iterable[str], depth: int) -> str:
    """Return the first text among some members of an error."""
    for name in names:
        value = error.get(name)
        words = words_of(value, depth + 1)
        if words:
            return words
    return ""


def _join(texts: Iterable[str]) -> str:
    """Return the texts as one, each once and without empty ones."""
    distinct = dict.fromkeys(texts)
    distinct.pop("", None)
    joined = "; ".join(distinct)
    return joined[:_MAX_WORDS]


def _name(error: Any) -> str:
    """Return the name of the code of a google.rpc.Status."""
    status = _mapping(error)
    code = status.get("code")
    if code is None:
        return "error"
    # isinstance would count `True` among the numbers.
    is_number = type(code) is int
    if is_number and 0 <= code < len(_CODES):
        return _CODES[code]
    return f"code {code}"[:40]


def _mapping(value: Any) -> Answer:
    """Return the value if it is an object, an empty one for anything else."""
    if isinstance(value, Mapping):
        return value
    return {}
