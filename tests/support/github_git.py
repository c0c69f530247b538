"""GitHub's Git database over HTTP, on a real repository: trees, commits and refs, as docs.github.com/rest/git says.

It signs what GitHub would: a commit of the workflow's own token that names neither author nor committer.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

TOKEN = "a workflow's token"
BOT = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "github-actions[bot]"), ("EMAIL", "github-actions[bot]@users.noreply.github.com"))
}


class _Refused(Exception):
    """An answer that is an error: its status and GitHub's message."""


class _Handler(BaseHTTPRequestHandler):
    repository: ClassVar[Path]
    signs: ClassVar[bool]

    def log_message(self, *_: object) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, response = 201 if self.command == "POST" else 200, self._route(body)
        except _Refused as refused:
            status, response = refused.args[0], {"message": refused.args[1]}
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(response).encode())

    do_PATCH = do_POST  # noqa: N815 - the name that http.server calls

    def _route(self, body: dict[str, Any]) -> dict[str, Any]:
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            raise _Refused(401, "Bad credentials")
        what = self.path.removeprefix("/repos/owner/name/git/")
        if self.command == "PATCH":
            return self._move(what, body)
        return {"trees": self._tree, "commits": self._commit, "refs": self._ref}[what](body)

    def _tree(self, body: dict[str, Any]) -> dict[str, Any]:
        environ = {"GIT_INDEX_FILE": str(self.repository / "stand-in.index")}
        self._git("read-tree", body["base_tree"], **environ)
        for entry in body["tree"]:
            blob = self._git("hash-object", "-w", "--stdin", stdin=entry["content"])
            self._git("update-index", "--add", "--cacheinfo", f"{entry['mode']},{blob},{entry['path']}", **environ)
        return {"sha": self._git("write-tree", **environ)}

    def _commit(self, body: dict[str, Any]) -> dict[str, Any]:
        parents = [f"-p{parent}" for parent in body["parents"]]
        sha = self._git("commit-tree", body["tree"], *parents, "-m", body["message"], **BOT)
        signed = self.signs and not {"author", "committer"} & body.keys()
        return {"sha": sha, "verification": {"verified": signed, "reason": "valid" if signed else "unsigned"}}

    def _ref(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._git("for-each-ref", body["ref"]):
            raise _Refused(422, "Reference already exists")
        self._git("update-ref", body["ref"], body["sha"])
        return {"ref": body["ref"]}

    def _move(self, ref: str, body: dict[str, Any]) -> dict[str, Any]:
        if not self._git("for-each-ref", ref):
            raise _Refused(422, "Reference does not exist")
        self._git("update-ref", ref, body["sha"])
        return {"ref": ref}

    def _git(self, *args: str, stdin: str = "", **environ: str) -> str:
        response = subprocess.run(
            ["git", *args],
            cwd=self.repository,
            input=stdin,
            env={**os.environ, **environ},
            check=True,
            capture_output=True,
            text=True,
        )
        return response.stdout.strip()


@contextlib.contextmanager
def github(repository: Path, *, signs: bool = True) -> Iterator[dict[str, str]]:
    """GitHub over `repository`; gives the variables by which a job finds it."""
    handler = type("Handler", (_Handler,), {"repository": repository / ".git", "signs": signs})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield {
                "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
                "GITHUB_REPOSITORY": "owner/name",
                "GH_TOKEN": TOKEN,
            }
        finally:
            server.shutdown()
            thread.join()
