"""Every metric, declared once with all its computations, and the measurements that gates judge."""
