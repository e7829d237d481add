"""The other end of ``bench.peer``: starts a peer's process and asks it questions."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import machine
from bench.peers.base import Unavailable

_ROOT = Path(__file__).resolve().parents[1]
# Compiling a large fixed-size template is the longest thing that a peer may rightly do.
_PATIENCE_SECONDS = 300


class PeerFailed(Exception):
    """A peer answered with an error, died or fell silent; the message says which."""


class Remote:
    """A peer in its own process. Restarted by the next question if it has died."""

    def __init__(self, name: str, threads: int):
        self.name, self.threads = name, threads
        self._process: subprocess.Popen[bytes] | None = None
        self.version = self._start()

    def ask(self, action: str, **arguments: Any) -> dict[str, Any]:
        """The peer's reply. Raises ``Unavailable`` or ``PeerFailed``."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({action: arguments}).encode() + b"\n")
        except BrokenPipeError:
            raise self._died() from None
        return self._reply()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> str:
        """Start the process; returns the peer's version."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.peer", self.name, "--threads", str(self.threads)],
            cwd=_ROOT,
            env=os.environ | machine.thread_environment(self.threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
        )
        return str(self._reply()["version"])

    def _reply(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], _PATIENCE_SECONDS)
        if not ready:
            self.close()
            raise PeerFailed(f"no answer in {_PATIENCE_SECONDS} s")
        line = self._process.stdout.readline()
        if not line:
            raise self._died()
        reply: dict[str, Any] = json.loads(line)
        if "unavailable" in reply:
            raise Unavailable(reply["unavailable"])
        if "error" in reply:
            raise PeerFailed(reply["error"])
        return reply

    def _died(self) -> PeerFailed:
        assert self._process is not None
        status = self._process.wait()
        self._process = None
        self._errors.seek(0)
        words = self._errors.read().decode(errors="replace").strip().splitlines()
        return PeerFailed(f"process ended with status {status}: {words[-1] if words else 'no message'}")
