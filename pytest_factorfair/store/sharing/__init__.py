"""What several processes, or hosts, share through the database: limits, claims on keys, and shards."""
