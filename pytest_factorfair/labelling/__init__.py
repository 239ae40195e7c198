"""Human labels of pictures: draw a sample, read the labels, and compare them with a detector.

pictures → sample (a folder with a sheet and a key) → labels → majorities (people)
majorities and detections → a detector's error table (compare, error_table)
majorities and a run's records → scores from people's labels (records, compare)
"""
