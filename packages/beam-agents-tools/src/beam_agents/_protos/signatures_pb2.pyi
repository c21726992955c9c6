from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from typing import ClassVar as _ClassVar

DESCRIPTOR: _descriptor.FileDescriptor

class SignatureScheme(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNATURE_SCHEME_UNSPECIFIED: _ClassVar[SignatureScheme]
    HMAC_SHA256: _ClassVar[SignatureScheme]
    ED25519: _ClassVar[SignatureScheme]
SIGNATURE_SCHEME_UNSPECIFIED: SignatureScheme
HMAC_SHA256: SignatureScheme
ED25519: SignatureScheme
