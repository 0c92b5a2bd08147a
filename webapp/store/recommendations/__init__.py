"""Recommendations: questions, files, answers."""
