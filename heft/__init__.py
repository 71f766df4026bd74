"""heft"""
