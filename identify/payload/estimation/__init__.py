"""The load from rows that are linear in its ten numbers: all at once (`batch`), or while it is carried (`recursive`).

Both search the most probable body that can exist (`optimiser`) by triangular factors of the rows (`factor`), and state
the same uncertainties (`uncertainty`). Rows come from a wrist sensor (`wrist_sensor`) or from joint torques
(`joint_torque`).
"""
