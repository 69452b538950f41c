"""A cache of results with a limit in bytes; the least recently used are evicted first."""

from collections import OrderedDict

# Bytes of an entry besides its content: key, slot of the dictionary, object headers. Measured and
# rounded up.
_OVERHEAD = 400


class Cache:
    """Content by key, with at most `limit` bytes in all.

    >>> cache = Cache(limit=1000)
    >>> cache.put("a", b"1"), cache.put("b", b"2"), cache.put("c", b"3")
    (None, None, None)
    >>> cache.get("a"), cache.get("c")
    (None, b'3')
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._entries: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes | None:
        """Return the content of a key and mark it as the most recently used."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: str, content: bytes) -> None:
        """Store content and evict old entries; content larger than the limit is not stored."""
        self._evict(key)
        size = len(content) + _OVERHEAD
        if size > self._limit:
            return
        self._entries[key] = content
        self._used += size
        while self._used > self._limit:
            self._evict(next(iter(self._entries)))

    @property
    def used(self) -> int:
        """Bytes that the entries use."""
        return self._used

    def _evict(self, key: str) -> None:
        evicted = self._entries.pop(key, None)
        if evicted is not None:
            self._used -= len(evicted) + _OVERHEAD
