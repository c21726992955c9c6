"""Lays out a double as ECMAScript does, which is how RFC 8785 writes numbers."""

from __future__ import annotations


def ecmascript_double(value: float) -> str:
    """Write a finite double (RFC 8785 section 3.2.2.3).

    Python finds the same shortest digits that ECMAScript asks for; the layouts
    differ for whole numbers below 1e21 and for everything below 1e-4.
    """
    text = float.__repr__(value)
    if text.endswith(".0"):
        return text[:-2] if value else "0"
    magnitude = abs(value)
    if 1e-4 <= magnitude < 1e16 or magnitude >= 1e21:
        return text
    mantissa, _, exponent = text.partition("e")
    if magnitude < 1e-6:
        return f"{mantissa}e{int(exponent)}"
    sign = "-" if value < 0 else ""
    digits = mantissa.lstrip("-").replace(".", "")
    if magnitude >= 1e16:
        return sign + digits.ljust(int(exponent) + 1, "0")
    return f"{sign}0.{digits.rjust(len(digits) - int(exponent) - 1, '0')}"
