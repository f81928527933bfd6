# SPDX-License-Identifier: MIT
"""bcrypt.py SETTING: the hash of "secret", by libcrypt."""

import ctypes
import sys

crypt = ctypes.CDLL("libcrypt.so.1").crypt
crypt.restype = ctypes.c_char_p
print(crypt(b"secret", sys.argv[1].encode()).decode())
