"""Models of a host: the CPU scheduler of its hypervisor and its queue of packets.

Takes workloads of virtual machines and policies, gives delays of requests. May import ``core``.
Example::

    simulate_credit_scheduler(Host(), arrivals_us, seed=1).delays_us
"""
