"""Semantic grounding: does a policy choose by the meaning of what it is told, or has it learned the motion alone?"""
