"""Functions of the C library that compiled loops call: loaded with the compiler.

Linux, 64 bit. Arguments are addresses and integers; each returns -1 on an error; its number is
at the address that ``errno_location`` returns.
"""

from numba import types

_C_INT, _WORD, _UNSIGNED = types.int32, types.int64, types.uint32

send_many = types.ExternalFunction("sendmmsg", _C_INT(_C_INT, _WORD, _UNSIGNED, _C_INT))
receive_many = types.ExternalFunction("recvmmsg", _C_INT(_C_INT, _WORD, _UNSIGNED, _C_INT, _WORD))
poll_until = types.ExternalFunction("ppoll", _C_INT(_WORD, _WORD, _WORD, _WORD))
read_clock = types.ExternalFunction("clock_gettime", _C_INT(_C_INT, _WORD))
nap = types.ExternalFunction("nanosleep", _C_INT(_WORD, _WORD))
errno_location = types.ExternalFunction("__errno_location", _WORD())
