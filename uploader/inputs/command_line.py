"""The command line: every input that is no secret is an option, beside the words that show a text instead of a run."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from uploader.input_problems import Problems
from uploader.inputs.input_table import Field, Inputs, Show, fields
from uploader.inputs.invalid_value import quoted

SHOWN: Mapping[str, Show] = {"--help": "help", "-h": "help", "--version": "version"}
COMPLETED: Mapping[str, Show] = {"bash": "bash", "zsh": "zsh"}  # shells, for --completion
PROCESS_LIST = "is not an option: other users of the machine could read it in the list of processes."
OPTIONS = "an input by its name, such as `--tracks internal`; `--env-file PATH`, `--help`, `--version`."
POSITIONAL = (
    "the program was called with arguments, but takes only options. Under GitLab CI the image's entrypoint gets the "
    'runner\'s shell as arguments: clear it with `image: {name: …, entrypoint: [""]}` and call `uploader` in `script`.'
)
# Where it is and not what it is, which may be a part of a key.
STRAY = "word {} of the command line is neither an option nor the value of one."


@dataclass(frozen=True)
class Options:
    """What the command line asks for: a text to show instead of a run, an env file's path, inputs as `--tracks`."""

    show: Show = ""
    env_file: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)


def options(argv: Sequence[str], problems: Problems) -> Options:
    """Reads the arguments. After a word that shows a text nothing else counts."""
    known = {field.option: field for field in fields()} if argv else {}
    words, path, given = deque(argv), "", dict[str, str]()
    while words:
        word = words.popleft()
        name, equals, value = word.partition("=")
        field = known.get(name)
        if word in SHOWN:
            return Options(show=SHOWN[word])
        if name == "--completion":
            if (shell := value if equals else _next(words)) in COMPLETED:
                return Options(show=COMPLETED[shell])
            problems.add(name, f"takes {' or '.join(COMPLETED)}.", OPTIONS)
        elif name == "--env-file":
            again, path = path, value if equals else _next(words)
            if again or not path:
                problems.add(name, "was given twice." if again else "needs the path of a file.", OPTIONS)
        elif field:
            _add(field, value if equals else _values(field, words), given, problems)
        elif name.startswith("-"):
            _unknown(name, words, problems)
        else:
            place = len(argv) - len(words)
            problems.add("arguments", POSITIONAL if place == 1 else STRAY.format(place), OPTIONS)
            if place == 1:
                break  # the rest belongs to the same foreign command line
    return Options("", path, given)


def _next(words: deque[str]) -> str:
    """The value that stands behind an option: the next word, unless it is an option itself."""
    return words.popleft() if words and not words[0].startswith("--") else ""


def _values(field: Field, words: deque[str]) -> str:
    """What belongs to an option without `=`: a list takes every word up to the next option, a boolean needs none."""
    kind = getattr(Inputs(), field.attribute)
    if isinstance(kind, bool):
        return words.popleft() if words and words[0].lower() in ("true", "false") else "true"
    taken = [_next(words)]
    while isinstance(kind, tuple) and taken[-1]:
        taken.append(_next(words))
    return "\n".join(filter(None, taken))


def _add(field: Field, value: str, given: dict[str, str], problems: Problems) -> None:
    """One input with its value; lists add up, anything else is given once, a secret never."""
    if not field.is_option:
        where = f"`{field.variables[-1]}` in the environment or in the file of `--env-file`."
        problems.add(field.option, PROCESS_LIST, where, covers=(field.name,))
    elif not value:
        problems.add(field.option, "needs a value.", OPTIONS, covers=(field.name,))
    elif field.option not in given:
        given[field.option] = value
    elif isinstance(getattr(Inputs(), field.attribute), tuple):
        given[field.option] += "\n" + value
    else:
        problems.add(field.option, "was given twice.", "one value", covers=(field.name,))


def _unknown(name: str, words: deque[str], problems: Problems) -> None:
    """Another tool's option, a misspelt one, or one that nobody knows; what follows it is taken for its values."""
    from uploader.inputs import unknown_inputs  # difflib and a table that a run with right names does without

    while words and not words[0].startswith("-"):
        words.popleft()
    if problem := unknown_inputs.mistake(name, name.lstrip("-"), "option"):
        problems.extend([problem])
    else:
        problems.add("arguments", f"{quoted(name)} is not an option.", OPTIONS)
