"""torch.nn.utils.rnn: sequences of several lengths."""

from __future__ import annotations

from tutor.nn.utils import rnn as ours
from tutor.torch.carrier import watch
from tutor.torch.signatures import adapted

PackedSequence = ours.PackedSequence
pack_padded_sequence = adapted(
    "pack_padded_sequence", "input, lengths, batch_first=False, enforce_sorted=True",
    ours.pack_padded_sequence,
)  # fmt: skip
pad_packed_sequence = adapted(
    "pad_packed_sequence", "sequence, batch_first=False, padding_value=0.0, total_length=None",
    ours.pad_packed_sequence,
)  # fmt: skip
pad_sequence = adapted(
    "pad_sequence", "sequences, batch_first=False, padding_value=0.0, padding_side='right'",
    ours.pad_sequence,
)  # fmt: skip

watch(__name__)
