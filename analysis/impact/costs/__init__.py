"""What sets of regions cost: dated price lists, the Pareto front, and budgets of many domains.

Takes samples, prices and traffic; gives documents. May import ``impact``, ``optimization`` and
``core``. Example::

    prices = read_price_list(data).prices_of(samples.regions)
"""
