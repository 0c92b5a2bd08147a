"""Min-max over groups of clients: minimise the largest of the groups' mean costs.

Known as the socially fair k-median problem (Ghadiri, Samadi and Vempala 2021; Abbasi, Bhaskara and
Venkatasubramanian 2021). May import ``model`` and ``solver``. Entry: ``worst_group``. Example::

    found = solve_worst_group(group_costs(costs, groups), limits, 3, aim, robust=False)
"""
