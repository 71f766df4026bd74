"""Readers of other tools' files: CSV, NPZ, Parquet (LeRobot's data sets too) and bags of ROS 2."""
