"""What every server of declared tables promises besides: it may go away and come back."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from tests.tables.document_contract import TABLES as DOCUMENTS
from tests.tables.document_contract import extract, people
from tests.tables.target_contract import Open, TargetContract, brought, product, tag
from tools.errors import Unavailable, Unreachable, UsageError
from tools.tables.address import PASSWORD_VARIABLE
from tools.tables.target import Target, open_target

PASSWORD = "not to be told"


class Server(Protocol):
    def start(self) -> None: ...
    def stop(self) -> None: ...


class ServerContract(TargetContract):
    """Subclasses give a fixture `server`, too, which may be stopped."""

    @pytest.fixture(autouse=True)
    def password(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(PASSWORD_VARIABLE, PASSWORD)

    def test_a_server_that_was_away_is_written_again(
        self, target: Target, server: Server, address: str, tmp_path: Path
    ) -> None:
        target.write([brought(product("A"), tag("x"))])
        server.stop()
        try:
            for _ in range(2):
                with pytest.raises(Unavailable, match="cannot be reached") as away:
                    target.write([brought(product("B"), source="b")])
                assert PASSWORD not in str(away.value)
            with pytest.raises(Unavailable):
                target.select("SELECT * FROM product")
            with pytest.raises(Unreachable):
                open_target(address, tmp_path)
        finally:
            server.start()
        target.write([brought(product("B"), source="b")])
        assert [row.sku for row in self.products(target)] == ["A", "B"]

    def test_documents_wait_for_a_server_that_was_away(
        self, open_again: Open, server: Server
    ) -> None:
        target = open_again()
        target.prepare(DOCUMENTS)
        some = [people("x", "y", document=f"{each}") for each in range(20)]
        target.replace(some[:10])
        server.stop()
        try:
            for each in (some, [extract(company=[("91A", "long" * 20, None, 0)])]):
                with pytest.raises(Unavailable, match="cannot be reached"):
                    target.replace(each)
        finally:
            server.start()
        for _ in range(2):
            assert target.replace(some).rows == [2] * 20
        rows = target.select("SELECT _document, _row, name FROM person")
        assert {*map(tuple, rows)} == {(f"{n}", at, "xy"[at]) for n in range(20) for at in (0, 1)}
        assert len(rows) == 40

    def test_restarted_between_writes_it_goes_on_at_once(
        self, target: Target, server: Server
    ) -> None:
        target.write([brought(product("A"))])
        server.stop()
        server.start()
        target.write([brought(product("B"), source="b")])
        assert [row.sku for row in self.products(target)] == ["A", "B"]

    def test_the_password_comes_from_a_file_of_ones_own(
        self, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv(PASSWORD_VARIABLE)
        file = tmp_path / "password"
        file.write_text(f"{PASSWORD}\n")
        file.chmod(0o644)
        with pytest.raises(UsageError, match="chmod 600"):
            open_target(address, tmp_path, file)
        file.chmod(0o600)
        open_target(address, tmp_path, file).close()

    def test_a_wrong_password_is_never_said(
        self, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(PASSWORD_VARIABLE, "quite wrong")
        with pytest.raises(Unreachable) as refused:
            open_target(address, tmp_path)
        error: BaseException | None = refused.value
        while error is not None:
            assert "quite wrong" not in f"{error!r} {error}"
            error = error.__cause__ or error.__context__

    def test_a_password_in_the_address_is_refused(self, address: str, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match=PASSWORD_VARIABLE) as refused:
            open_target(address.replace("sheaf@", "sheaf:open@"), tmp_path)
        assert "open" not in str(refused.value)

    def test_values_stand_in_no_message(self, target: Target, open_again: Open) -> None:
        self.run(target, "DROP TABLE tag")
        with pytest.raises(Exception) as failed:
            target.write([brought(tag("zqzq"))])
        assert "zqzq" not in str(failed.value)
