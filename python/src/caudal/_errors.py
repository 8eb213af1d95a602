"""The errors of the module."""

from __future__ import annotations

from typing import Any, Mapping, Optional


class CaudalError(Exception):
    """A command that failed.

    `code` is the program's name for the failure (such as ``peer`` or ``usage``), `exit_code` its exit code, `message` what happened and
    `advice` what to do about it, which may be empty.
    """

    def __init__(self, message: str, *, code: str = "failed", exit_code: int = 1, advice: str = "") -> None:
        super().__init__(f"{message}; {advice}" if advice else message)
        self.message = message
        self.code = code
        self.exit_code = exit_code
        self.advice = advice

    @classmethod
    def from_document(cls, document: Mapping[str, Any], exit_code: int) -> CaudalError:
        """The error of a document ``caudal.error/1``."""
        error = document.get("error", {})
        return cls(
            str(error.get("message", "the command failed")),
            code=str(error.get("code", "failed")),
            exit_code=int(error.get("exit_code", exit_code)),
            advice=str(error.get("advice") or ""),
        )

    @classmethod
    def from_text(cls, text: str, exit_code: int) -> CaudalError:
        """The error of a line on standard error."""
        lines: list[str] = [line for line in text.splitlines() if line.strip()]
        message: Optional[str] = lines[-1] if lines else None
        if message is None:
            return cls(f"caudal ended with code {exit_code}", exit_code=exit_code)
        return cls(message[len("caudal: ") :] if message.startswith("caudal: ") else message, exit_code=exit_code)


class NotInstalledError(CaudalError):
    """The program is not there."""
