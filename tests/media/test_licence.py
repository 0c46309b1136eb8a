"""Licences have one name each, and what is not known to be open has none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.media import licence

CC = "creativecommons.org"


@pytest.mark.parametrize(
    "address",
    [
        f"https://{CC}/licenses/by-sa/4.0/",
        f"http://{CC}/licenses/by-sa/4.0",
        f"https://www.{CC}/licenses/by-sa/4.0/deed",
        f"https://{CC}/licenses/by-sa/4.0/deed.zh_TW",
        f"https://{CC}/licenses/by-sa/4.0/legalcode",
        f"https://{CC}/licenses/by-sa/4.0/legalcode.pt-br/",
        f"//{CC}/licenses/by-sa/4.0/",
        f"HTTPS://{CC.upper()}/licenses/BY-SA/4.0/?lang=de",
        f" https://{CC}/licenses/by-sa/4.0/#x ",
    ],
)
def test_an_address_may_be_written_in_many_ways(address: str) -> None:
    assert licence.read(address) == "cc-by-sa-4.0"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"http://{CC}/licenses/by/3.0/de/deed.en", "cc-by-3.0-de"),
        (f"http://{CC}/licenses/by-nc-nd/2.5/scotland/", "cc-by-nc-nd-2.5-scotland"),
        (f"http://{CC}/licenses/by/3.0/igo/", "cc-by-3.0-igo"),
        (f"https://{CC}/publicdomain/zero/1.0/", "cc0-1.0"),
        (f"https://{CC}/publicdomain/mark/1.0/deed.fr", "pdm-1.0"),
        (f"http://{CC}/licenses/publicdomain/", "pd"),
        ("cc-by-sa-4.0", "cc-by-sa-4.0"),
        ("CC BY-SA 4.0", "cc-by-sa-4.0"),
        ("cc-by-2.5-dk", "cc-by-2.5-dk"),
        ("cc-by-sa-2.5,2.0,1.0", "cc-by-sa-2.5"),
        ("cc-by-sa-3.0-migrated", "cc-by-sa-3.0"),
        ("cc-zero", "cc0-1.0"),
        ("CC0", "cc0-1.0"),
        ("pd", "pd"),
        ("PD-old-70", "pd"),
        ("Public domain", "pd"),
        ("cc-pd", "pd"),
        ("pdm", "pdm-1.0"),
        ("by-nc-sa", "cc-by-nc-sa"),
        ("cc-by-nd", "cc-by-nd"),
        ("Creative Commons 0", "cc0-1.0"),
        ("Attribution NonCommercial", "cc-by-nc"),
        ("pexels", "pexels"),
    ],
)
def test_every_way_to_name_a_licence_is_understood(text: str, code: str) -> None:
    assert licence.read(text) == code


@pytest.mark.parametrize(
    "text",
    [
        "GFDL",
        "gfdl-1.3",
        "fair use",
        "All rights reserved",
        "Copyrighted",
        "No restrictions",
        "sampling+",
        "by-nc-sa-nd",
        "cc-by-9.9",
        "by-sa-4.0-and-a-fee",
        f"https://{CC}/licenses/sampling+/1.0/",
        f"https://{CC}/licenses/by/9.0/",
        f"https://{CC}/licenses/by/4.0/../../by-nc/4.0/",
        f"https://{CC}.evil.example/licenses/by/4.0/",
        f"https://evil.example/?{CC}/licenses/by/4.0/",
        f"ftp://{CC}/licenses/by/4.0/",
        "https://www.gnu.org/copyleft/fdl.html",
        "http://[::1/licenses/by/4.0/",
        "",
        "pd" + "-x" * 300,
    ],
)
def test_what_is_not_known_to_be_open_has_no_code(text: str) -> None:
    assert licence.read(text) is None


@pytest.mark.parametrize("value", [None, 4, True, [], {}, b"cc0"])
def test_what_is_no_text_is_no_licence(value: object) -> None:
    assert licence.read(value) is None


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    code = licence.read(text)
    assert code is None or licence.short_name(code)


@given(
    st.sampled_from(["by", "by-sa", "by-nd", "by-nc", "by-nc-sa", "by-nc-nd"]),
    st.sampled_from(["1.0", "2.0", "2.1", "2.5", "3.0", "4.0"]),
    st.sampled_from(["", "-de", "-us", "-igo"]),
)
def test_a_code_leads_to_its_address_and_back(terms: str, version: str, port: str) -> None:
    code = f"cc-{terms}-{version}{port}"
    assert licence.read(code) == code
    assert licence.read(licence.url_of(code)) == code
    assert licence.short_name(code) == terms


@pytest.mark.parametrize("code", ["cc0-1.0", "pdm-1.0"])
def test_public_domain_tools_lead_to_their_address_and_back(code: str) -> None:
    assert licence.read(licence.url_of(code)) == code


def test_a_licence_is_allowed_by_its_short_name_alone() -> None:
    allowed = ("cc0", "pdm", "pd", "by", "by-sa", "pexels")
    codes = ("cc0-1.0", "pdm-1.0", "pd", "cc-by-2.0", "cc-by-sa-3.0-de", "cc-by", "pexels")
    refused = ("cc-by-nc-4.0", "cc-by-nd-4.0", "cc-by-nc-sa", "unknown", "by", "", "None")
    assert all(licence.is_allowed(code, allowed) for code in codes)
    assert not any(licence.is_allowed(code, allowed) for code in refused)
    assert not any(licence.is_allowed(code, ()) for code in codes + refused)
