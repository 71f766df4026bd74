"""The bare hand: everything beyond the wrist sensor when nothing is held.

`hand`            the value: ten numbers, their covariance, the sensor's delay, noise and notes
`learned_hand`    from a stretch of motion, for weighing: what is taken off before a load is estimated
`identified_hand` from all wrenches of an arm's identification, with intervals; `carried`: as part of its link
"""
