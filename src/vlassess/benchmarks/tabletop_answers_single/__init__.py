"""The embedded benchmark ``tabletop-answers-single-v1``: one arm; its code is in ``tabletop``."""
