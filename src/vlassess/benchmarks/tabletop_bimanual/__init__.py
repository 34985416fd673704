"""The embedded benchmark ``tabletop-bimanual-v1``: ``tabletop-v1`` with two arms; its code is in ``tabletop``."""
