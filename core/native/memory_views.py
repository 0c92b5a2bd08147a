"""Arrays by their addresses, for compiled loops: loaded with the compiler.

A loop that works on many arrays is given one record with their addresses, which is much cheaper to
pass from function to function, and to compile, than the arrays.
"""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array


@intrinsic
def view_array(typing_context: Any, address: Any, shape: Any, dtype: Any) -> Any:
    """View memory as a contiguous array of a shape, a tuple of integers, and a type of numpy."""
    array_type = types.Array(dtype.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(array_type)(context, builder)
        word = context.get_value_type(types.intp)
        item = context.get_abi_sizeof(context.get_data_type(array_type.dtype))
        lengths = [
            context.cast(builder, length, kind, types.intp)
            for length, kind in zip(cgutils.unpack_tuple(builder, args[1]), shape, strict=True)  # type: ignore[no-untyped-call]
        ]
        strides = [word(item)]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(length, strides[0]))
        populate_array(  # type: ignore[no-untyped-call]
            array,
            data=builder.inttoptr(args[0], array.data.type),
            shape=lengths,
            strides=strides,
            itemsize=word(item),
            meminfo=None,
        )
        return array._getvalue()

    return array_type(types.int64, shape, dtype), generate
