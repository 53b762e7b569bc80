"""What the text of chapter 4 claims."""

from __future__ import annotations

from prose import Claim

CLAIMS: list[Claim] = []
NOT_CLAIMS: dict[str, str] = {}
