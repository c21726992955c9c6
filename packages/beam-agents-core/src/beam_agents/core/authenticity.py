"""Whether an answer is signed by whom the configuration trusts."""

from __future__ import annotations

from typing_extensions import assert_never

from beam_agents._protos import ToolResult
from beam_agents.core.continuation import Answer
from beam_agents.intents.keyring import Keyring, KeyringReference
from beam_agents.intents.signing import Forged, UnknownKey, Unsigned, Verified, verify


class Authenticity:
    """Verifies answers. Without keys for a kind of them, its topic is a trust boundary.

    Args:
        result_keys: For `ToolResult`s, or None to trust their topic.
        approval_keys: For `Approval`s.
    """

    def __init__(
        self, result_keys: KeyringReference | None, approval_keys: KeyringReference | None
    ) -> None:
        self._references = {True: result_keys, False: approval_keys}
        self._keyrings: dict[bool, Keyring] = {}

    def problem_of(self, answer: Answer) -> str:
        """Say why an answer cannot be trusted, or nothing.

        Raises:
            KeyringError: The keys cannot be read: nothing may be judged without them.
        """
        is_result = isinstance(answer, ToolResult)
        reference = self._references[is_result]
        if reference is None:
            return ""
        if is_result not in self._keyrings:  # on the worker, where the reference leads somewhere
            self._keyrings[is_result] = Keyring.load(reference)
        verification = verify(answer, self._keyrings[is_result])
        match verification:
            case Verified():
                return ""
            case Unsigned():
                return "it is not signed"
            case UnknownKey(key_id):
                return f"it is signed with key {key_id!r}, which the keyring does not have"
            case Forged(key_id):
                return f"its signature is not one of key {key_id!r}"
            case _:
                assert_never(verification)
