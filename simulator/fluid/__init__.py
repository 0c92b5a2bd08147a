"""Fluid models of networks: rates of flows without packets.

Takes routes with the share of each flow that crosses each link, gives max-min fair rates and times
of completion. May import ``core``. Example::

    rates = share_links(np.array([[1.0, 1.0]]), np.array([10.0]))  # 5 and 5
"""
