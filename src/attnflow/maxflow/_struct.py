"""Many arrays handed on as one address: that of a struct with a pointer to each of them.

A named tuple would be passed field by field, some thirty values for a call of a dozen
instructions. Where the class of the tuple says that a size is always the same (`KNOWN`), kernels
are compiled for that number: loops over it are unrolled or vanish.
"""

from collections.abc import Mapping
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types
from numba.core.typing.templates import AttributeTemplate

_WORD = ir.IntType(64)  # every field is an integer or a pointer, and takes one


class _Struct(types.Type):
    """The address of a struct; `known` has the values of fields that are never read."""

    def __init__(
        self, name: str, fields: Mapping[str, types.Type], known: Mapping[str, int]
    ) -> None:
        super().__init__(name=name)
        self.fields = dict(fields)
        self.known = dict(known)

    @property
    def key(self) -> Any:
        return self.name, *self.fields.items(), *self.known.items()


numba.extending.register_model(_Struct)(numba.extending.models.OpaqueModel)


@numba.extending.infer_getattr
class _Fields(AttributeTemplate):
    key = _Struct

    def generic_resolve(self, struct, field):
        return struct.fields.get(field)


@numba.extending.lower_getattr_generic(_Struct)
def _read_field(context, builder, struct, address, field):
    kind = context.get_value_type(struct.fields[field])
    if field in struct.known:
        return ir.Constant(kind, struct.known[field])
    place = ir.Constant(_WORD, list(struct.fields).index(field))
    value = builder.load(builder.gep(builder.bitcast(address, kind.as_pointer()), [place]))
    # No kernel writes here. If LLVM did not know, it would read the pointers again after every
    # store, and vectorise no loop.
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


# Typed as Any: a checker would take the template's signature for the function's.
_intrinsic: Any = numba.extending.intrinsic


@_intrinsic
def struct_of(typing_context, sizes, arrays, place):
    """A struct of `sizes` and pointers to `arrays`, two named tuples, by the names in them.

    It is written to the memory at the address `place`, which must outlive it, as must the arrays.
    """
    fields = dict.fromkeys(sizes.fields, types.int64)
    for name, array in zip(arrays.fields, arrays.types, strict=True):
        fields[name] = types.CPointer(array.dtype)
    owner = arrays.instance_class
    struct = _Struct(owner.__name__, fields, getattr(owner, "KNOWN", {}))

    def generate(context, builder, signature, arguments):
        words = [builder.extract_value(arguments[0], i) for i in range(len(sizes.fields))]
        for i, kind in enumerate(arrays.types):
            array = context.make_array(kind)(
                context, builder, builder.extract_value(arguments[1], i)
            )
            words.append(builder.ptrtoint(array.data, _WORD))
        memory = builder.inttoptr(arguments[2], _WORD.as_pointer())
        for i, word in enumerate(words):
            builder.store(word, builder.gep(memory, [ir.Constant(_WORD, i)]))
        # Empty assembly between writing and reading: fields are said never to change, so LLVM must
        # not find out that this is the memory just written to.
        same = ir.FunctionType(_WORD, [_WORD])
        written = builder.asm(same, "", "=r,0,~{memory}", [arguments[2]], side_effect=True)
        return builder.inttoptr(written, context.get_value_type(struct))

    return struct(sizes, arrays, types.intp), generate
