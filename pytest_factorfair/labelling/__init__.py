"""What people see in pictures: a sample and a sheet, their majority, a detector held against it."""
