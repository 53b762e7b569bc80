"""The device that is none, registered while a test runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_device import FakeDevice

from tutor.backends import devices


@pytest.fixture
def fake() -> Iterator[FakeDevice]:
    device = FakeDevice()
    devices.register(device)
    yield device
    devices.unregister("fake")
