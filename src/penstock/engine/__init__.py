"""The only place that imports pyspark: the session, and the landing job."""
