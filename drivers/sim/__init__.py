"""The simulated rig: an arm in MuJoCo, and drivers that measure and move it. See docs/simulated-rig.md.

world            the Plant of a simulated rig: the arm, its time, its seeds and its truth
robot            what is known of the robot; model: its MJCF or URDF file as MuJoCo models
truth            the true parameters, drawn around those of the file
arm_dynamics     state and motion; friction: the friction law
servo            position servo of the drives; computed_torque: its control law
device           base of the simulated drivers: own clock, line, faults
sim_line         latency, jitter and loss between device and host; frame_faults: faults inside frames
suspension       what holds a robot whose base is free
drives, encoders, wrench, imu, gripper   the drivers
"""
