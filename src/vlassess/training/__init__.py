"""Trains ``mini-vla`` on the embedded benchmark, from nothing: collect, fit, export, evaluate.

Needs the extra ``train`` (PyTorch) beside ``sim``. ``python -m vlassess.training --help`` lists the commands.
"""
