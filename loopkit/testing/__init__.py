"""For tests of agents: replay a recording in a test, with the network blocked."""

from loopkit.testing.network import NetworkBlocked as NetworkBlocked
from loopkit.testing.network import no_network as no_network
from loopkit.testing.replays import assert_replays as assert_replays
from loopkit.testing.replays import explain as explain
