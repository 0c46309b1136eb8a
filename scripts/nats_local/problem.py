"""What ends the script: a sentence and an exit code."""

from __future__ import annotations


class Problem(Exception):
    """Ends the script with a sentence and an exit code."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
