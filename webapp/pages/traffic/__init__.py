"""Pages of traffic captures: the list, one capture, and the upload of logs."""
