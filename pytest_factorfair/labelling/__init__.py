"""What people see in pictures, compared with a detector.

pictures → sample (a folder with a sheet and a key) → labels → majorities (people)
majorities and detections → a detector's table of errors (compare, error_table)
majorities and a run's records → scores from people (records, compare)
"""
