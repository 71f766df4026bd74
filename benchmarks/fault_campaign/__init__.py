"""The fault campaign of `benchmarks/faults.py`: one file per group of faults, and what they share.

trial      what one run is: its fault, its seed, what must come of it, what came of it
isolation  a program in a session of its own, with folders of its own; what it leaves behind
motion     robots, rigs and sessions that a seed draws: limits, speeds, brakes
plant_log  what the arm really did, whoever recorded it
cell       emulated devices in a process of their own, which outlives the host's program
judge      what was expected against what came of it
device_faults, wire_faults, host_faults, stranger_faults, file_faults
"""
