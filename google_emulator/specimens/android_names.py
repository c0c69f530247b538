"""The android namespace and the resource ids of the manifest's attributes, as the platform numbers them."""

from __future__ import annotations

ANDROID = "http://schemas.android.com/apk/res/android"
DEBUGGABLE = 0x0101000F
VERSION_CODE, VERSION_NAME, VERSION_CODE_MAJOR = 0x0101021B, 0x0101021C, 0x01010576
LOW_32 = 0xFFFFFFFF  # a long version code is versionCodeMajor * 2**32 + versionCode
