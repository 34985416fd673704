"""One exception tree; every error that this package raises on purpose is in it.

```
VlassessError
├── ContractError               a value breaks its own invariants; its maker must be mended
├── CapabilityError             an optional call of a policy that does not declare it
├── PluginError                 a benchmark or a policy cannot be found, imported or used; names it
├── WireError                   a message cannot cross the wire
│   ├── EncodeError             the sender's value is not of the wire's types; names the leaf's path
│   ├── DecodeError             the received bytes are not a message of the protocol
│   └── HandshakeError          the two sides do not speak the same protocol or version
└── EpisodeFault                ends one attempt of an episode; `origin` says who is charged
    ├── PolicyFault             origin "policy": final after one attempt, counts as a failure
    │   ├── InvalidActionError  NaN or inf, wrong shape or dtype
    │   ├── PredictError        predict() or reset() of the policy raised
    │   └── InferenceTimeout    no action within the inference deadline
    ├── BenchmarkFault          origin "benchmark": retried, then reported apart
    │   ├── ObservationError    make_obs() broke the observation contract
    │   └── PhaseTimeout        a simulator call ran past its deadline
    └── InfrastructureFault     origin "infrastructure": retried, then reported apart
        ├── ConnectionLost      the connection broke while an answer was awaited
        ├── PolicyBusy          the policy was busy with other sessions until the deadline
        ├── PolicyHangs         another session's call of the policy, or one shared with others, does not end
        └── PolicyUnavailable   no policy answered at the address in time
```

Messages say what was found, where, and how to mend it.
"""

from __future__ import annotations

from typing import Tuple

ORIGINS: Tuple[str, ...] = ("policy", "benchmark", "infrastructure")
"""Who can be charged with an error; see the semantics page."""


class VlassessError(Exception):
    """Root of every error that vlassess raises on purpose."""


class ContractError(VlassessError, ValueError):
    """A value breaks the invariants of its type."""


class CapabilityError(VlassessError, NotImplementedError):
    """An optional call was made of a policy whose spec does not have the capability."""


class PluginError(VlassessError):
    """A benchmark or a policy cannot be found, imported or used."""


class WireError(VlassessError):
    """A message cannot cross the wire."""


class EncodeError(WireError):
    """The sender's value is not of the wire's types."""


class DecodeError(WireError):
    """The received bytes are not a message of the protocol."""


class HandshakeError(WireError):
    """The two sides do not speak the same protocol or version."""


class EpisodeFault(VlassessError):
    """Ends one attempt of an episode; ``origin`` says who is charged."""

    origin = "infrastructure"


class PolicyFault(EpisodeFault):
    """Charged to the policy: final after one attempt, counts as a failure."""

    origin = "policy"


class InvalidActionError(PolicyFault):
    """An action is not finite or not of the declared shape or dtype."""


class PredictError(PolicyFault):
    """The policy's own code raised."""


class InferenceTimeout(PolicyFault):
    """The policy gave no action within the inference deadline."""


class BenchmarkFault(EpisodeFault):
    """Charged to the benchmark: retried, then reported apart."""

    origin = "benchmark"


class ObservationError(BenchmarkFault):
    """An observation breaks the observation contract."""


class PhaseTimeout(BenchmarkFault):
    """A simulator call ran past its deadline."""


class InfrastructureFault(EpisodeFault):
    """Charged to nobody under test: retried, then reported apart."""

    origin = "infrastructure"


class ConnectionLost(InfrastructureFault):
    """The connection broke while an answer was awaited."""


class PolicyBusy(InfrastructureFault):
    """The policy was busy with other sessions' observations until the deadline."""


class PolicyHangs(InfrastructureFault):
    """Another session's call of the policy, or one shared with others, has run for longer than the deadline."""


class PolicyUnavailable(InfrastructureFault):
    """No policy answered at the address in time."""
