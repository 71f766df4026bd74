"""Own constraints: linear equalities as rows, from a robot's file or from a user's function in cvxpy"""
