"""Sources of zone observations and the inferences from them.

Takes rows and files that ``tasks.zones`` has checked; may import ``webapp.store.models`` and
``webapp.store.access``. Example: ``services.add_file(survey, "rtts", "a.csv", data, 120)``.
"""
