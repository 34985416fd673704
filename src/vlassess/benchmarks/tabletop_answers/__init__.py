"""The embedded benchmark ``tabletop-answers-v1``: one candidate is the answer; its code is in ``tabletop``."""
