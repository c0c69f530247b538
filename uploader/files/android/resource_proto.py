"""Reads the resource table of a bundle's module, `resources.pb`, value by value.

Reference: aapt2's Resources.proto and Configuration.proto in the Android platform
(frameworks/base/tools/aapt2), and how `aapt2 convert` writes what they say into a binary table.

The bytes are untrusted: fields, values and items are counted, and nothing is copied.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from uploader.files.android.protobuf import ABSENT, Field, ProtoReader
from uploader.files.android.resource_values import (
    ARRAY_BEGINNING,
    ATTRIBUTE_MAXIMUM,
    ATTRIBUTE_MINIMUM,
    ATTRIBUTE_REFERENCE,
    ATTRIBUTE_TYPE,
    BOOLEAN,
    CONFIGURATION_SIZE,
    DECIMAL,
    DYNAMIC_ATTRIBUTE,
    DYNAMIC_REFERENCE,
    ITEM_FILE,
    ITEM_FLAG,
    ITEM_ID,
    ITEM_PRIMITIVE,
    ITEM_RAW_TEXT,
    ITEM_REFERENCE,
    ITEM_STYLED_TEXT,
    ITEM_TEXT,
    MAX_VALUES,
    PLURALS,
    REFERENCE,
    Encoded,
    TableValue,
    UnreadableTable,
    encode_items,
    encode_number,
    encode_styled,
    encode_text,
    pack_letters,
    read_primitive,
)

# twelve for each value, with those of the messages around it
_MAX_FIELDS = 12 * MAX_VALUES
# fields of a table, a package, a type, a resource
_PACKAGE = 2
_LIBRARY = 5
_PACKAGE_ID = 1
_PACKAGE_NAME = 2
_PACKAGE_TYPE = 3
_TYPE_ID = 1
_TYPE_NAME = 2
_TYPE_ENTRY = 3
_ENTRY_ID = 1
_ENTRY_NAME = 2
_ENTRY_VALUE = 6
_VALUE_CONFIGURATION = 1
_VALUE_VALUE = 2
_ITEM = 4
_COMPOUND = 5
# kinds of compound values
_ATTRIBUTE = 1
_STYLE = 2
_ARRAY = 4
_PLURALS = 5
_ATTRIBUTE_SYMBOL = 4
_STYLE_PARENT = 1
_STYLE_ENTRY = 3

# Types that only exist while an app is built.
_BUILD_TYPES = ("styleable", "macro")
# What an attribute accepts if it names no limits.
_LOWEST = 0x80000000
_HIGHEST = 0x7FFFFFFF
# the longest text that a pool in UTF-8 can hold, and what aapt2 writes instead of a longer one
_MAX_POOL_TEXT = 0x7FFF
_TOO_LARGE = "STRING_TOO_LARGE"
_DAMAGED = (struct.error, LookupError, UnicodeError, ValueError)


class ProtoTable:
    """The resource table of a module. `packages` are the packages that it has, and `libraries`
    others that it names, both by their ids; they are complete once all values were read.

    Raises UnreadableTable.
    """

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._proto = ProtoReader(_MAX_FIELDS)
        self._values_left = MAX_VALUES
        self._configurations: dict[bytes, bytes] = {}
        self.packages: dict[int, str] = {}
        self.libraries: dict[int, str] = {}

    def values(self) -> Iterator[TableValue]:
        """Read every value."""
        try:
            for field in self._proto.fields(self._data):
                if field.id == _PACKAGE:
                    yield from self._package(field.data)
                elif field.id == _LIBRARY:
                    library = self._proto.message(field.data)
                    name = _text(library[2])
                    package_id = self._id(library[1])
                    self.libraries[package_id] = name
        except _DAMAGED:
            raise UnreadableTable("is damaged") from None

    def _package(self, data: memoryview) -> Iterator[TableValue]:
        package_id = 0
        types: list[memoryview] = []
        name = ""
        for field in self._proto.fields(data):
            if field.id == _PACKAGE_ID:
                package_id = self._id(field)
            elif field.id == _PACKAGE_NAME:
                name = _text(field)
            elif field.id == _PACKAGE_TYPE:
                _add(types, field)
        self.packages[package_id] = name
        for type_data in types:
            yield from self._type(type_data, package_id)

    def _type(self, data: memoryview, package_id: int) -> Iterator[TableValue]:
        type_id = 0
        entries: list[memoryview] = []
        name = ""
        for field in self._proto.fields(data):
            if field.id == _TYPE_ID:
                type_id = self._id(field)
            elif field.id == _TYPE_NAME:
                name = _text(field)
            elif field.id == _TYPE_ENTRY:
                _add(entries, field)
        if name in _BUILD_TYPES:
            return
        first = package_id << 24 | type_id << 16
        for entry in entries:
            yield from self._entry(entry, first, name)

    def _entry(
        self,
        data: memoryview,
        first: int,
        type_name: str,
    ) -> Iterator[TableValue]:
        """Read the values of one resource; `first` is the id of the first one of its type."""
        number = 0
        values: list[memoryview] = []
        name = ""
        for field in self._proto.fields(data):
            if field.id == _ENTRY_ID:
                number = self._id(field)
            elif field.id == _ENTRY_NAME:
                name = _text(field)
            elif field.id == _ENTRY_VALUE:
                _add(values, field)
            elif field.id > _ENTRY_VALUE + 1:
                raise UnreadableTable("has values that a feature flag decides about")
        self._values_left -= len(values)
        if self._values_left < 0:
            raise UnreadableTable(f"has more than {MAX_VALUES:,} values")
        for value_data in values:
            pair = self._proto.message(value_data)
            configuration = self._configuration(pair[_VALUE_CONFIGURATION].data)
            value, file = self._value(pair[_VALUE_VALUE].data)
            yield TableValue(
                first | number,
                type_name,
                name,
                configuration,
                value,
                file,
            )

    def _id(self, field: Field) -> int:
        """Return the number in a message that holds nothing else."""
        message = self._proto.message(field.data)
        return message[1].number

    # Configurations

    def _configuration(self, data: memoryview) -> bytes:
        """Return a configuration as a binary table has it."""
        key = bytes(data)
        if key not in self._configurations:
            message = self._proto.message(data)
            self._configurations[key] = _encode_configuration(message)
        return self._configurations[key]

    # Values

    def _value(self, data: memoryview) -> tuple[Encoded, str | None]:
        """Return a value, encoded, and its path if it is a file."""
        for field in self._proto.fields(data):
            if field.id == _ITEM:
                return self._item(field.data)
            if field.id == _COMPOUND:
                return self._compound(field.data), None
        raise ValueError(0)

    def _item(self, data: memoryview) -> tuple[Encoded, str | None]:
        """Return a value that is not compound, encoded, and its path if it is a file."""
        item = self._proto.message(data)
        if item[ITEM_FLAG].number:
            raise UnreadableTable("has values that a feature flag decides about")
        for kind in (ITEM_TEXT, ITEM_RAW_TEXT):
            if kind in item:
                message = self._proto.message(item[kind].data)
                text = _pool_text(message[1])
                return encode_text(text), None
        if ITEM_REFERENCE in item:
            return self._reference(item[ITEM_REFERENCE].data), None
        if ITEM_PRIMITIVE in item:
            return self._primitive(item[ITEM_PRIMITIVE].data), None
        if ITEM_FILE in item:
            file = self._proto.message(item[ITEM_FILE].data)
            path = _text(file[1])
            return encode_text(path), path
        if ITEM_ID in item:
            return encode_number(BOOLEAN, 0), None
        if ITEM_STYLED_TEXT in item:
            return self._styled_text(item[ITEM_STYLED_TEXT].data), None
        raise UnreadableTable("has values of an unknown kind")

    def _styled_text(self, data: memoryview) -> Encoded:
        text = ""
        spans = []
        for field in self._proto.fields(data):
            if field.id == 1:
                text = _pool_text(field)
            elif field.id == 2:
                span = self._proto.message(field.data)
                tag = _text(span[1])
                first_character = span[2].number
                last_character = span[3].number
                spans.append((tag, first_character, last_character))
        if not spans:
            return encode_text(text)
        return encode_styled(text, spans)

    def _reference(self, data: memoryview) -> Encoded:
        reference = self._proto.message(data)
        resource = _target(reference)
        kind = REFERENCE
        dynamic_kind = DYNAMIC_REFERENCE
        if reference[1].number:
            kind = ATTRIBUTE_REFERENCE
            dynamic_kind = DYNAMIC_ATTRIBUTE
        # A reference that is only resolved when the app runs has a type of its own.
        dynamic = reference[5]
        is_dynamic = False
        if dynamic.data:
            is_dynamic = self._id(dynamic) != 0
        package_id = resource >> 24
        type_id = resource >> 16 & 0xFF
        if is_dynamic and package_id and type_id:
            kind = dynamic_kind
        return encode_number(kind, resource)

    def _primitive(self, data: memoryview) -> Encoded:
        primitive = read_primitive(self._proto.fields(data))
        if primitive is None:
            raise UnreadableTable("has values of an unknown kind")
        kind, number = primitive
        if kind == BOOLEAN and number:
            number = 0xFFFFFFFF
        return encode_number(kind, number)

    def _compound(self, data: memoryview) -> Encoded:
        """Return a style, an array, plurals or an attribute, encoded."""
        for field in self._proto.fields(data):
            if field.id == _ATTRIBUTE:
                return self._attribute(field.data)
            if field.id == _STYLE:
                return self._style(field.data)
            if field.id == _ARRAY:
                return self._array(field.data)
            if field.id == _PLURALS:
                return self._plurals(field.data)
        raise UnreadableTable("has values of an unknown kind")

    def _attribute(self, data: memoryview) -> Encoded:
        """Return which values an attribute accepts."""
        message = self._proto.message(data)
        formats = encode_number(DECIMAL, message[1].number)
        items = [(ATTRIBUTE_TYPE, formats)]
        minimum = message[2].number & 0xFFFFFFFF
        if minimum != _LOWEST:
            value = encode_number(DECIMAL, minimum)
            items.append((ATTRIBUTE_MINIMUM, value))
        maximum = message[3].number & 0xFFFFFFFF
        if maximum != _HIGHEST:
            value = encode_number(DECIMAL, maximum)
            items.append((ATTRIBUTE_MAXIMUM, value))
        for field in self._proto.fields(data):
            if field.id == _ATTRIBUTE_SYMBOL:
                symbol = self._proto.message(field.data)
                name = self._proto.message(symbol[3].data)
                key = _target(name)
                kind = symbol[5].number or DECIMAL
                value = encode_number(kind, symbol[4].number)
                items.append((key, value))
        return encode_items(0, items)

    def _style(self, data: memoryview) -> Encoded:
        parent = 0
        items = []
        for field in self._proto.fields(data):
            if field.id == _STYLE_PARENT:
                reference = self._proto.message(field.data)
                parent = _target(reference)
            elif field.id == _STYLE_ENTRY:
                entry = self._proto.message(field.data)
                attribute = self._proto.message(entry[3].data)
                key = _target(attribute)
                item, _ = self._item(entry[4].data)
                items.append((key, item))
        return encode_items(parent, items)

    def _array(self, data: memoryview) -> Encoded:
        items: list[tuple[int, Encoded]] = []
        for field in self._proto.fields(data):
            if field.id == 1:
                element = self._proto.message(field.data)
                key = ARRAY_BEGINNING + len(items)
                item, _ = self._item(element[3].data)
                items.append((key, item))
        return encode_items(0, items)

    def _plurals(self, data: memoryview) -> Encoded:
        items: dict[int, Encoded] = {}
        for field in self._proto.fields(data):
            if field.id == 1:
                entry = self._proto.message(field.data)
                quantity = PLURALS[entry[3].number]
                key = ATTRIBUTE_TYPE + quantity
                item, _ = self._item(entry[4].data)
                items[key] = item
        return encode_items(0, items.items())


def _add(messages: list[memoryview], field: Field) -> None:
    """Add a message to those of its kind. Raises UnreadableTable if there are more than ids."""
    if len(messages) > 0xFFFF:
        raise UnreadableTable("has more resources than there are ids")
    messages.append(field.data)


def _target(reference: Mapping[int, Field]) -> int:
    """Return the id that a reference is to; 0 for none."""
    resource = reference.get(2, ABSENT).number
    name = reference.get(3, ABSENT).data
    if not resource and name:
        raise UnreadableTable("refers to a resource by its name alone")
    return resource


def _text(field: Field) -> str:
    return str(field.data, "utf-8")


def _pool_text(field: Field) -> str:
    """Return a text as a pool of strings has it."""
    text = _text(field)
    utf8_size = len(field.data)
    if utf8_size <= _MAX_POOL_TEXT // 2:
        return text
    utf16 = text.encode("utf-16-le")
    units = len(utf16) // 2
    # A pool has a character beyond the BMP in six bytes, three for each half, UTF-8 in four.
    beyond_bmp = units - len(text)
    pool_size = utf8_size + 2 * beyond_bmp
    if max(units, pool_size) > _MAX_POOL_TEXT:
        return _TOO_LARGE
    return text


_CONFIGURATION = struct.Struct("<2H2s2s2BH4B2H2H2BH2H4s8s2B")
# fields of a configuration (Configuration.proto)
_MCC = 1
_MNC = 2
_LOCALE = 3
_LAYOUT_DIRECTION = 4
_SCREEN_WIDTH = 5
_SCREEN_HEIGHT = 6
_SCREEN_WIDTH_DP = 7
_SCREEN_HEIGHT_DP = 8
_SMALLEST_WIDTH_DP = 9
_SCREEN_SIZE = 10
_SCREEN_LONG = 11
_SCREEN_ROUND = 12
_WIDE_COLOR_GAMUT = 13
_HDR = 14
_ORIENTATION = 15
_UI_MODE_TYPE = 16
_UI_MODE_NIGHT = 17
_DENSITY = 18
_TOUCHSCREEN = 19
_KEYS_HIDDEN = 20
_KEYBOARD = 21
_NAVIGATION_HIDDEN = 22
_NAVIGATION = 23
_SDK_VERSION = 24
_GRAMMATICAL_GENDER = 26
_SDK_MINOR_VERSION = 27
_LAST_FIELD = 28
# Fields whose values "yes" and "no" are 1 and 2, and in ResTable_config 2 and 1.
_YES_AND_NO = (0, 2, 1, 3)


def _encode_configuration(message: Mapping[int, Field]) -> bytes:
    """Return a configuration as ResTable_config has it, without its size."""
    tag = _text(message.get(_LOCALE, ABSENT))
    language, script, region, variant = _locale(tag)
    if max(message, default=0) > _LAST_FIELD:
        raise UnreadableTable("has values for an unknown kind of device")
    numbers: dict[int, int] = {}
    for field_id in range(1, _LAST_FIELD):
        field = message.get(field_id, ABSENT)
        numbers[field_id] = field.number

    def choice(field_id: int) -> int:
        return _YES_AND_NO[numbers[field_id]]

    input_flags = choice(_KEYS_HIDDEN)
    input_flags |= choice(_NAVIGATION_HIDDEN) << 2
    screen_layout = numbers[_SCREEN_SIZE]
    screen_layout |= choice(_SCREEN_LONG) << 4
    screen_layout |= numbers[_LAYOUT_DIRECTION] << 6
    ui_mode = numbers[_UI_MODE_TYPE]
    ui_mode |= choice(_UI_MODE_NIGHT) << 4
    color_mode = choice(_WIDE_COLOR_GAMUT)
    color_mode |= choice(_HDR) << 2
    configuration = _CONFIGURATION.pack(
        numbers[_MCC],
        numbers[_MNC],
        language,
        region,
        numbers[_ORIENTATION],
        numbers[_TOUCHSCREEN],
        numbers[_DENSITY],
        numbers[_KEYBOARD],
        numbers[_NAVIGATION],
        input_flags,
        numbers[_GRAMMATICAL_GENDER],
        numbers[_SCREEN_WIDTH],
        numbers[_SCREEN_HEIGHT],
        numbers[_SDK_VERSION],
        numbers[_SDK_MINOR_VERSION],
        screen_layout,
        ui_mode,
        numbers[_SMALLEST_WIDTH_DP],
        numbers[_SCREEN_WIDTH_DP],
        numbers[_SCREEN_HEIGHT_DP],
        script,
        variant,
        choice(_SCREEN_ROUND),
        color_mode,
    )
    return configuration.ljust(CONFIGURATION_SIZE, b"\0")


def _locale(tag: str) -> tuple[bytes, bytes, bytes, bytes]:
    """Return language, script, region and variant of a tag (BCP 47) as ResTable_config has them."""
    if not tag:
        return b"", b"", b"", b""
    script = b""
    region = b""
    variant = b""
    lower_tag = tag.lower()
    language, *subtags = lower_tag.split("-")
    for subtag in subtags:
        length = len(subtag)
        may_be_script = length == 4 and not subtag[0].isdigit()
        if may_be_script and not script and not region:
            script = subtag.title().encode("ascii")
        elif length in (2, 3) and not region:
            country = subtag.upper()
            region = pack_letters(country, ord("0"))
        elif 4 <= length <= 8 and not variant:
            variant = subtag.encode("ascii")
        else:
            raise UnreadableTable("has values for an unknown language")
    if len(language) not in (2, 3):
        raise UnreadableTable("has values for an unknown language")
    language_code = pack_letters(language, ord("a"))
    return language_code, script, region, variant
