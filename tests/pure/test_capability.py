"""Devices as data: every limit is there, and the table agrees with itself and with known devices."""

from __future__ import annotations

import pytest

from tilewright.errors import ArgumentError
from tilewright.targets.cuda.capability import (
    CAPABILITIES,
    DEVICES,
    FEATURES,
    arch_of,
    limits_of,
    named,
    row_of,
)

pytestmark = pytest.mark.pure

QUERYABLE = {
    *("warp_size", "threads_per_block", "registers_per_block", "shared_per_block", "shared_per_block_optin"),
    *("sms", "l2", "clock_khz", "texture1d_linear", "texture2d_linear_width", "texture2d_linear_height"),
    *("texture2d_linear_pitch", "texture_pitch_alignment"),
}
TABLED = {
    *("capability", "threads_per_sm", "warps_per_sm", "blocks_per_sm", "registers_per_sm", "shared_per_sm"),
    *("registers_per_thread", "shared_reserved"),
}


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_every_row_is_whole_and_consistent(capability: int) -> None:
    limits = limits_of(capability)
    assert set(limits) == TABLED
    assert limits["threads_per_sm"] == 32 * limits["warps_per_sm"]
    assert limits["registers_per_sm"] % 1024 == limits["shared_per_sm"] % 1024 == 0
    # An SM full of threads that use few registers is possible on all of them.
    assert limits["registers_per_sm"] // limits["threads_per_sm"] >= 21


def test_the_device_of_the_paper() -> None:
    """Kurzak et al., table 2: what a Fermi has, and what bounds the nine sizes."""
    fermi = named("fermi-s2050")
    assert (fermi["warp_size"], fermi["threads_per_block"], fermi["registers_per_block"]) == (32, 1024, 32768)
    assert (fermi["shared_per_block"], fermi["shared_per_sm"]) == (49152, 49152)
    assert (fermi["warps_per_sm"], fermi["blocks_per_sm"], fermi["threads_per_sm"]) == (48, 8, 1536)
    assert (fermi["registers_per_sm"], fermi["registers_per_thread"], fermi["sms"]) == (32768, 63, 14)
    peak = 2 * fermi["sms"] * fermi["clock_khz"] * 1000
    assert peak * fermi.rates["fma.s"] == pytest.approx(1.03e12, rel=0.01)
    assert peak * fermi.rates["fma.d"] == pytest.approx(515e9, rel=0.01)


def test_the_h200() -> None:
    device = named("h200")
    assert (device.kind, device.name, device.key) == ("cuda", "NVIDIA H200", "h200")
    assert device.features == "sm_90a"
    assert (device["shared_per_block_optin"], device["shared_per_sm"]) == (232448, 233472)
    assert device.last_cache == 62914560
    assert 2 * device["sms"] * device.rates["fma.d"] * device["clock_khz"] * 1000 == pytest.approx(
        33.5e12, rel=0.01
    )


@pytest.mark.parametrize("key", DEVICES)
def test_named_devices_have_every_limit(key: str) -> None:
    device = named(key)
    assert device.key == key
    assert set(device.limits) == QUERYABLE | TABLED | {"cores"}
    assert all(type(value) is int for value in device.limits.values())
    assert device["shared_per_block"] <= device["shared_per_block_optin"]
    assert device["shared_per_block_optin"] + device["shared_reserved"] <= device["shared_per_sm"]
    assert device["registers_per_block"] <= device["registers_per_sm"]


def test_an_unknown_capability_has_the_limits_of_the_nearest_lower_one() -> None:
    assert limits_of(121) == limits_of(120) | {"capability": 121}
    assert limits_of(21) == limits_of(20) | {"capability": 21}
    assert limits_of(300) == limits_of(max(CAPABILITIES)) | {"capability": 300}
    with pytest.raises(ArgumentError, match=r"capability=13; accepted: 20 \(2\.0\) and above"):
        limits_of(13)


@pytest.mark.parametrize(
    ("capability", "arch"), [(20, "sm_20"), (80, "sm_80"), (89, "sm_89"), (90, "sm_90a"), (100, "sm_100a")]
)
def test_architectures(capability: int, arch: str) -> None:
    assert arch_of(capability) == arch


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(ArgumentError, match=r"device='v1' is not known; accepted: fermi-s2050, a100"):
        named("v1")


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_every_row_says_what_it_supports_and_how_fast_it_is(capability: int) -> None:
    row = row_of(capability)
    assert row.supports <= set(FEATURES)
    assert 0 < row.rates["fma.d"] <= row.rates["fma.s"]
    # Tensor cores are there where something asks for them, and no instruction beats the published rate.
    assert ("mma.d" in row.rates) == ("mma_f64" in row.supports)
    for letter in "hd":
        most = row.rates.get(f"tensor.{letter}")
        assert most is None or row.rates[f"mma.{letter}"] <= most


def test_what_single_architectures_have_is_in_no_later_one() -> None:
    assert [x for x in CAPABILITIES if "wgmma" in row_of(x).supports] == [90]
    assert [x for x in CAPABILITIES if "tcgen05" in row_of(x).supports] == [100, 103, 110]
    assert "tma" in row_of(120).supports
    assert "multicast" not in row_of(120).supports
    # 12.1 is as 12.0; a generation that nobody knows yet keeps only what has stayed so far.
    assert row_of(121).supports == row_of(120).supports
    assert "tcgen05" in row_of(101).supports
    assert "tcgen05" not in row_of(300).supports
