"""What has a handle of the library, `_handle`, which is None once it is closed."""

from __future__ import annotations

from typing import TypeVar

Opened = TypeVar("Opened", bound="Closing")


class Held:
    """Closed when nobody has it any more, if not before."""

    def close(self) -> None:
        raise NotImplementedError

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


class Closing(Held):
    """Closed at the end of a `with`, too."""

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
