"""LIBERO and LIBERO-PRO: a Panda arm, 130 tasks with stored starts, and their published perturbations."""
