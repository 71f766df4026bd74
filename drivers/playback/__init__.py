"""How a drive plays setpoints: which one is in force, and how the axes come to rest when no more come.

setpoint_follower   state (off, hold, play, stop) and reference of n axes over time
setpoint_queue      chunks of setpoints that are not due yet
stop_ramp           the controlled stop
"""
