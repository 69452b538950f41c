"""Results that are kept, the least recently used ones dropped first."""

from collections import OrderedDict

# What an entry takes beside its bytes: the key, the dictionary's slot, two objects' heads. Chosen
# as measured, and rounded up.
_BESIDE = 400


class Cache:
    """Bytes by key, at most so many in all.

    >>> cache = Cache(limit=1000)
    >>> cache.keep("a", b"1"), cache.keep("b", b"2"), cache.keep("c", b"3")
    (None, None, None)
    >>> cache.find("a"), cache.find("c")
    (None, b'3')
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._entries: OrderedDict[str, bytes] = OrderedDict()

    def find(self, key: str) -> bytes | None:
        """What was kept under a key, which is then the most recently used."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def keep(self, key: str, content: bytes) -> None:
        """Keep content, and drop what is too much. Content larger than all is not kept."""
        self._drop(key)
        size = len(content) + _BESIDE
        if size > self._limit:
            return
        self._entries[key] = content
        self._taken += size
        while self._taken > self._limit:
            self._drop(next(iter(self._entries)))

    @property
    def taken(self) -> int:
        """Bytes that the entries take."""
        return self._taken

    def _drop(self, key: str) -> None:
        dropped = self._entries.pop(key, None)
        if dropped is not None:
            self._taken -= len(dropped) + _BESIDE
