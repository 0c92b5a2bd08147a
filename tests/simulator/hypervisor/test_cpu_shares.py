import numpy as np
import pytest

from simulator.hypervisor.cpu_shares import share_cpu


@pytest.mark.parametrize("ratio", [1, 2, 4, 10])
def test_busy_vms_share_by_weight(ratio):
    heavy, light = share_cpu((256 * ratio, 256), (None, None), 3000)
    assert heavy / light == pytest.approx(ratio, rel=0.02)
    assert heavy + light == pytest.approx(1)


@pytest.mark.parametrize("cap", [0.1, 0.4, 0.7, 0.9])
def test_a_cap_holds_with_and_without_a_rival(cap):
    alone = share_cpu((1,), (cap,), 3000)
    assert alone[0] == pytest.approx(cap, abs=0.01)
    both = share_cpu((1, 1), (cap, 1 - cap), 3000)
    assert both == pytest.approx([cap, 1 - cap], abs=0.01)


def test_what_a_capped_vm_may_not_use_goes_to_the_others():
    shares = share_cpu((1, 1, 2), (0.1, None, None), 3000)
    assert shares == pytest.approx([0.1, 0.3, 0.6], abs=0.01)
    assert np.all(shares >= 0)
