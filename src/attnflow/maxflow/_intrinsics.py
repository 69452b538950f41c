"""How kernels are compiled, and the bit tricks that Numba does not offer.

Kernels pass pointers and not arrays among themselves (`_struct`). Numba counts the references to
an array atomically at every call, and a push along one edge is a few nanoseconds: with arrays the
same solver ran three times slower. The caller of a kernel keeps the arrays alive.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.extending
from llvmlite import ir
from numba import types

from attnflow.maxflow._cache import discard_stale_cache

# Kernels compute with integers held in float64 (see `_network`), so sums may be taken in any
# order; there is no NaN and no infinity in them.
_SETTINGS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz", "nnan", "ninf"},
}


discard_stale_cache(Path(__file__).parent)


# For kernels that only kernels call: wrappers would be compiled for nothing. Python must not call
# such a kernel: there is no code to call, and the process crashes.
_UNWRAPPED: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def entry(function: Callable[..., Any]) -> Any:
    """Compile a kernel that Python calls, and keep the code on disk where there is a place.

    Where neither the package's folder nor the user's cache can be written, Numba refuses to keep
    code. Then every process compiles again; NUMBA_CACHE_DIR sets a folder for it.
    """
    return _compiled(function, {**_SETTINGS, "no_cfunc_wrapper": True})


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel that other kernels call, as `entry` does.

    Arguments must not be integer constants, for which Numba compiles versions of their own: write
    `np.int64(2)`.
    """
    return _compiled(function, {**_SETTINGS, **_UNWRAPPED})


def inlined(function: Callable[..., Any]) -> Any:
    """A kernel that becomes part of its callers.

    For small steps of the innermost loops: left to itself, LLVM inlines some of them and not
    others.
    """
    return _compiled(function, {**_SETTINGS, **_UNWRAPPED, "forceinline": True})


def _compiled(function: Callable[..., Any], settings: dict[str, Any]) -> Any:
    try:
        return numba.njit(cache=True, **settings)(function)
    except (RuntimeError, OSError):
        return numba.njit(**settings)(function)


# Typed as Any: a checker would take the template's signature for the function's.
_intrinsic: Any = numba.extending.intrinsic


@_intrinsic
def lowest(typing_context, word):
    """The position of the lowest bit that is set in `word`, which is not zero."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


@_intrinsic
def greater_than(typing_context, left, i, right, j):
    """Eight comparisons at once: bit k is set where left[i + k] > right[j + k]."""

    def generate(context, builder, signature, arguments):
        eight = ir.VectorType(ir.DoubleType(), 8)

        def load(pointer, index):
            place = builder.bitcast(builder.gep(pointer, [index]), eight.as_pointer())
            return builder.load(place, align=8)

        greater = builder.fcmp_ordered(
            ">", load(arguments[0], arguments[1]), load(arguments[2], arguments[3])
        )
        return builder.zext(builder.bitcast(greater, ir.IntType(8)), ir.IntType(64))

    return types.uint64(left, types.int64, right, types.int64), generate
