"""Every rule about an edit's record, reversed in a copy of the program: the exhaustive walk has to
notice it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLAY = Path("uploader/services/play")
WALK = """
import sys
from tests.services.play.test_edit_exhaustive import SHAPES
from tests.services.play.test_several_apps_exhaustive import Walk as WalkOfApps
from tests.support.play_walk import Walk
from tests.support.turns import by_turns
walk = WalkOfApps(by_turns) if sys.argv[1] == "apps by turns" else Walk(SHAPES[sys.argv[1]])
walk.explore()
"""


@dataclass(frozen=True)
class Planted:
    """One line of a module and the reversed one, the shape of job that meets it, and the words with
    which the walk ends.
    """

    module: str
    line: str
    backwards: str
    shape: str
    words: str


LISTING = Planted(
    "release_job",
    'return f"listing:{_digest([texts, images, self.prune_images])}"',
    'return "listing:"',
    "listing",
    "something else was committed than what the job asks for",
)
TRACK = Planted(
    "edit_lifecycle",
    "return self.record.wrote.get(track) != after",
    "return False",
    "staged",
    "something else was committed than what the job asks for",
)
RECALLED = Planted(
    "edit_lifecycle",
    "        kept.tell_committed(None)\n",
    "        kept.tell_committed(False)\n",
    "own edit that tells its commit",
    "what is live is said not to be committed",
)
COMPARED = Planted(
    "edit_lifecycle",
    '    if not job.commits:\n        context.publish({"committed": "false"})',
    '    if True:\n        context.publish({"committed": "false"})',
    "own edit that tells its commit",
    "what is live is said not to be committed",
)
LATE = Planted(
    "edit_lifecycle",
    "return self.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.STILL_OPEN)",
    "return self.commit in (CommitKnowledge.UNKNOWN,)",
    "own edit that tells its commit",
    "is said not to be committed",
)
DENIED = Planted(
    "edit_lifecycle",
    "return _is_not_found(error) and find(error) is OTHER",
    "return False",
    "own edit that tells its commit",
    "what is live is said not to be committed",
)
GONE_ON = Planted(
    "track_merge",
    "there = further(ours, before, asked)",
    "there = None",
    "staged rollout that people take further or halt",
    "ReleaseRefused('`user-fraction`: the release",
)
REVIEW = Planted(
    "edit_lifecycle",
    "        edit.record = lost.record\n",
    "        lost.record.by_hand = None\n        edit.record = lost.record\n",
    "review by hand",
    "nobody is told to send it for review",
)
REVIEW_KEPT = Planted(
    "edit_lifecycle",
    'by_hand=_flag(record.get("by_hand")),',
    "by_hand=None,",
    "review by hand",
    "nobody is told to send it for review",
)
BESIDE = Planted(
    "stage",
    "edit.note_earlier_commit(is_live=recorded_are_live or all_live)",
    "edit.note_earlier_commit(is_live=all_live)",
    "testers",
    "what is live is told as lost",
)
BUILT_AGAIN = Planted(
    "stage",
    "if ours != theirs and by_earlier_run:",
    "if False:",
    "own edit",
    "another job ends with ReleaseRefused('Google Play already has version code 2",
)
PROMOTION = Planted(
    "edit_lifecycle",
    "    edit.begun = lost.begun\n",
    "",
    "promotion",
    "another version was promoted",
)
PROMOTION_KEPT = Planted(
    "edit_lifecycle",
    'return _recorded_release(begun["release"])',
    "return None",
    "promotion",
    "another version was promoted",
)
KEPT_BESIDE_A_REFUSAL = Planted(
    "several_apps",
    "if own is not None and rank(own) <= max(rank(failed.failure), 1):",
    "if own is not None:",
    "apps by turns",
    "a refusal leaves an edit behind",
)
COMMITTED_TOGETHER = Planted(
    "release",
    "run.do_one_by_one(publications)",
    "run.do_together(publications)",
    "apps by turns",
    "committed out of order",
)
NOT_ALL_STAGED = Planted(
    "release",
    "run.do_together(stages, stop=True)",
    "run.do_together({r.app: lambda r=r: (r.stage(), r.publish()) for r in releases})",
    "apps by turns",
    "committed before all are validated",
)
RULES = {
    "a kept listing is continued for the same wish": LISTING,
    "a kept track loses what is not wished": TRACK,
    "a recalled commit is in doubt": RECALLED,
    "nothing is said before a comparison": COMPARED,
    "a late commit is in doubt": LATE,
    "404 to a commit is looked up": DENIED,
    "a release that has gone on is done": GONE_ON,
    "the next edit knows who sends for review": REVIEW,
    "the next run knows who sends for review": REVIEW_KEPT,
    "a commit shows in the tracks that it wrote": BESIDE,
    "a bundle that was built again gets a fresh edit": BUILT_AGAIN,
    "the next edit knows the promotion": PROMOTION,
    "the next run knows the promotion": PROMOTION_KEPT,
    "beside a refusal nothing is kept": KEPT_BESIDE_A_REFUSAL,
    "apps are committed one after the other": COMMITTED_TOGETHER,
    "no app is published before all are staged": NOT_ALL_STAGED,
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_planted_backwards_is_found(rule: str, tmp_path: Path) -> None:
    """The copy differs in one line, and the walk of the shape ends with the words for the rule that
    is broken.
    """
    planted = RULES[rule]
    shutil.copytree(
        ROOT / "uploader",
        tmp_path / "uploader",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    module = tmp_path / PLAY / f"{planted.module}.py"
    source = module.read_text()
    assert source.count(planted.line) == 1
    module.write_text(source.replace(planted.line, planted.backwards))
    command = [sys.executable, "-c", WALK, planted.shape]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert planted.words in ended.stderr.splitlines()[-1]
