"""Models behind one small port: bytes in, bytes out."""
