from __future__ import annotations

from pytest_gpumatrix.portability.patching.patches import Patches


class Base:
    def inherited(self) -> str:
        return "base"


class Owner(Base):
    def own(self) -> str:
        return "own"


def test_what_was_replaced_is_put_back() -> None:
    before = dict(vars(Owner))
    patches = Patches()
    patches.replace(Owner, "own", lambda original: lambda self: f"ours of {original(self)}")
    patches.replace(Owner, "inherited", lambda original: lambda self: f"ours of {original(self)}")
    assert (Owner().own(), Owner().inherited()) == ("ours of own", "ours of base")
    patches.undo()
    assert dict(vars(Owner)) == before


def test_what_somebody_else_replaced_since_is_left_alone() -> None:
    class Mine(Owner):
        pass

    patches = Patches()
    patches.replace(Mine, "own", lambda original: original)
    theirs = Mine.own = Base.inherited  # type: ignore[method-assign]
    patches.undo()
    assert Mine.own is theirs
    assert not patches.active
