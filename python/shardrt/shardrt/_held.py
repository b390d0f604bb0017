"""What has a handle of the library, `_handle`, which is None once it is closed."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

Opened = TypeVar("Opened", bound="Closing")


class Uncopied:
    """There is one of what it has a handle of: copy, deepcopy and pickle are errors."""

    _instead: str
    """What to do in place of a copy."""

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled: {self._instead}")


class Held(Uncopied):
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
