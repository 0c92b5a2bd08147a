"""Independent verification of results and certificates, from the samples alone.

Takes samples and a recommendation, gives the list of errors, empty if the proof holds. May import
``optimization.model`` and the types of certificates, no search code. Example::

    assert check(samples, recommendation) == []
"""
