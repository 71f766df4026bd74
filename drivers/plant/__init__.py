"""What simulated and emulated devices share: the plant that they measure and move, and models of their errors.

Nothing here imports MuJoCo, and nothing knows a protocol.

    plant     the interface between a device and its plant, and what every plant does alike: time, seeds, faults
    bench     a small plant of independent joints, for an emulator that runs without a rig
    mover     the interface of what moves the joints, once per servo period
    history   states of the last seconds, sampled by each device at instants of its own clock
    sensor    bias, drift, noise, resolution and range
    ticker    a device's own clock
    faults    faults on command
    inertia   rigid-body inertia as pseudo-inertia
    objects   objects that a gripper can pick up
"""
