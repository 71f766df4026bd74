"""Pick-ups one after the other: what the gripper signals, confirmed by a scale."""
