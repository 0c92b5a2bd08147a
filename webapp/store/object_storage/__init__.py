"""Files of the lake in S3-compatible object storage: objects that never change, and a manifest."""
